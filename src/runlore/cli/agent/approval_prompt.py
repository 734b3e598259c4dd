"""What a run of Runlore's own agent waits for, asked of whoever sits at the terminal.

Where nobody does, a call that needs a word is denied and a question is left to the agent itself; `--yes` lets
every call be made that the rules would ask about. Whoever only looks on says nothing for others.
"""

import orjson

from runlore.cli.agent.line_input import read_line
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
        """What is said to a request; None where it waits for somebody else."""
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
        for name, value in approval.arguments.items():
            text = value if isinstance(value, str) else orjson.dumps(value, default=dict).decode()
            say(f"   {name}:", "dim")
            # All of it, and what else could end a line told by its code: whoever says yes says it to all.
            for line in text.split("\n"):
                say(f"     {line.expandtabs()}", is_code=True)
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


def _deny(approval: Approval, why: str) -> ops.ApprovalDecision:
    return ops.ApprovalDecision(approval_id=approval.approval_id, approve=False, answer=why or None)
