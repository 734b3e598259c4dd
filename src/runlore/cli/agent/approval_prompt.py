"""What a run of Runlore's own agent waits for, asked of whoever sits at the terminal.

Where nobody does, a call that needs a word is denied and a question is left to the agent itself; `--yes` lets
every call be made that the rules would ask about. Whoever only looks on says nothing for others.
"""

import os
import sys
import termios
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType

import orjson

from runlore.cli.agent.screen import Screen
from runlore.cli.terminal import say
from runlore.domain.agent.approval import Approval, ApprovalKind
from runlore.ports import operations as ops

ASKED = "   Allow it? [y/n/a=all of this run, or n and why]: "
QUESTION = "   Your answer [Enter sends it]: "
NOBODY = "Nobody is there to answer. Decide by yourself, carefully, and say what you have assumed."
NOBODY_ALLOWS = "nobody is there who could allow it"
_YES, _NO, _ALL = frozenset({"y", "yes"}), frozenset({"n", "no"}), frozenset({"a", "all"})


class ApprovalPrompt:
    """Who answers for a person. What was said for all of a run counts for it alone.

    `leaves` is for whoever looks on: what nobody decides here waits for somebody who does.
    """

    def __init__(self, screen: Screen, *, yes: bool, is_terminal: bool, leaves: bool = False) -> None:
        self._screen = screen
        self._yes = yes
        self._is_terminal = is_terminal
        self._leaves = leaves
        self._all_of: set[str] = set()

    def decide(self, approval: Approval) -> ops.ApprovalDecision | None:
        answered = {ApprovalKind.CALL: self._call, ApprovalKind.QUESTION: self._question}
        return answered[approval.kind](approval)

    def note_waiting(self, approval: Approval) -> None:
        told = {
            ApprovalKind.CALL: f"The run waits for a word on {approval.tool}: runlore approvals show",
            ApprovalKind.QUESTION: "The run waits for an answer: runlore approvals show",
        }
        self._screen.note(f"{told[approval.kind]} {approval.approval_id}", "yellow")

    def _call(self, approval: Approval) -> ops.ApprovalDecision | None:
        if self._yes or approval.run_id in self._all_of:
            return ops.ApprovalDecision(approval_id=approval.approval_id, approve=True)
        if self._is_terminal:
            self._show_call(approval)
            return self._ask_permission(approval)
        if self._leaves:
            self.note_waiting(approval)
            return None
        self._screen.note(
            f"Denied, for nobody is at the terminal: {approval.tool}. Give --yes, or allow it under"
            " [agent.approval] in config.toml.",
            "yellow",
        )
        return _deny(approval, NOBODY_ALLOWS)

    def _show_call(self, approval: Approval) -> None:
        self._screen.note(f"The agent wants to call {approval.tool}:", "bold")
        show_arguments(approval)
        if approval.why:
            say(f"   {approval.why}", "dim")

    def _ask_permission(self, approval: Approval) -> ops.ApprovalDecision:
        while True:
            said = read_line(ASKED, afresh=True)
            line = "n" if said is None else said.strip()
            word, _, why = line.partition(" ")
            if line.lower() in _ALL:
                self._all_of.add(approval.run_id)
            if line.lower() in _YES | _ALL:
                return ops.ApprovalDecision(approval_id=approval.approval_id, approve=True)
            if word.lower().rstrip(",.:;") in _NO:
                return _deny(approval, why.strip())
            say("   Answer y to allow it, n to deny it, a to allow all that this run asks.", "yellow")

    def _question(self, approval: Approval) -> ops.ApprovalDecision | None:
        if self._leaves and not self._is_terminal:
            self.note_waiting(approval)
            return None
        self._screen.note("The agent asks:", "bold")
        for line in approval.question.split("\n"):
            self._screen.note(f"   {line.expandtabs()}", "")
        answer = (read_line(QUESTION, afresh=True) or "").strip() if self._is_terminal else ""
        return ops.ApprovalDecision(approval_id=approval.approval_id, answer=answer or NOBODY)


def show_arguments(approval: Approval) -> None:
    """All that a call is asked with, each line as a line, and what else could end one told by its code:
    whoever says yes says it to all."""
    for name, value in approval.arguments.items():
        say(f"   {name}:", "dim")
        text = value if isinstance(value, str) else orjson.dumps(value, default=dict).decode()
        show_lines(text, indent=5, is_code=True)


def show_lines(text: str, style: str = "", *, indent: int = 3, is_code: bool = False) -> None:
    """A text with its own lines, none of which can pass for a part of the one before."""
    for line in text.split("\n"):
        say(f"{' ' * indent}{line.expandtabs()}", style, is_code=is_code)


def _deny(approval: Approval, why: str) -> ops.ApprovalDecision:
    return ops.ApprovalDecision(approval_id=approval.approval_id, approve=False, answer=why or None)


def read_line(prompt: str, *, afresh: bool = False, before: str = "") -> str | None:
    """A line without its end; None at the end of the input. `afresh`: what was typed or pasted before it was
    asked for is thrown away. `before` stands there to be changed, where lines can be edited."""
    while True:
        if afresh:
            with suppress(OSError, ValueError, termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        try:
            line = _line(prompt, before)
            # What was no UTF-8 may be hidden in it, as halves of characters.
            line.encode()
            return line
        except UnicodeError:
            say("That was no text in UTF-8. Type it again.", "yellow")
        except EOFError:
            say("")
            return None
        except KeyboardInterrupt:
            say("")
            raise


def remember(text: str) -> None:
    editor = _editor()
    if editor is not None and editor.get_history_item(editor.get_current_history_length()) != text:
        editor.add_history(text)


def _line(prompt: str, before: str = "") -> str:
    # Lines are edited at the streams that the process began with, and at no others.
    editor = _editor() if (sys.stdin, sys.stdout) == (sys.__stdin__, sys.__stdout__) else None
    if editor is not None:
        editor.set_startup_hook(lambda: editor.insert_text(before))
        try:
            return input(prompt)
        finally:
            editor.set_startup_hook()
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


@cache
def _editor() -> ModuleType | None:
    """What edits lines. It is loaded where somebody is asked, since loading it touches the terminal."""
    try:
        editor = import_module("readline")
    except ImportError:
        # Not every Python is built with it; then the terminal's own keys have to do.
        return None
    editor.set_auto_history(False)
    if os.environ.get("TERM", "dumb") != "dumb":
        editor.parse_and_bind("set enable-bracketed-paste on")
    return editor
