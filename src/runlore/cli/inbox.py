"""`runlore inbox`: all that waits for a person, one after the other at a terminal, else as a list.

An answer at the terminal is carried out when the next one is given, or at the end; until then `u` takes it
back, whatever it was. The store is free while a person reads. Background work is done at the end.
"""

import os
import shutil
import sys
import termios
import textwrap
import tty
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.agent.approval_prompt import read_line, show_arguments, show_lines
from runlore.cli.invocation import Invocation
from runlore.cli.last_list import short_ids
from runlore.cli.skills.mount_updates import bring_mounts_up_to_date
from runlore.cli.skills.prompt import SOURCES_SHOWN, STOPPED, is_terminal, show_suggestion
from runlore.cli.tables.learning_tables import evidence_text
from runlore.cli.tables.table_cells import end_list, kind_text, plural
from runlore.cli.terminal import TEXT_COLUMNS_MIN, Column, say, show_table
from runlore.cli.typer_commands import option
from runlore.daemon import answers
from runlore.domain.agent.approval import ApprovalId
from runlore.domain.errors import Conflict, RunloreError, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.run import RunId
from runlore.domain.runs.job import JobId
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops
from runlore.ports.operations import InboxAct, InboxItem, InboxKind, InUse

_PAGE = 50
_QUOTED_CHARS_MAX = 300
_WORDS = {
    InboxKind.APPROVAL: ("asked by a run", "asked by runs"),
    InboxKind.CONFLICT: ("conflict", "conflicts"),
    InboxKind.ESCALATION: ("escalation", "escalations"),
    InboxKind.REVALIDATION: ("to look at again", "to look at again"),
    InboxKind.CANDIDATE: ("memory", "memories"),
    InboxKind.SUGGESTION: ("suggested skill", "suggested skills"),
    InboxKind.DEAD_LETTER: ("failed job", "failed jobs"),
}
_STYLES = {InboxKind.CONFLICT: "red", InboxKind.APPROVAL: "yellow", InboxKind.DEAD_LETTER: "red"}
# What each key does, of the acts that an item has; the first that it has is the one.
_KEYS = {
    "y": (
        *(InboxAct.CONFIRM, InboxAct.REPLACE, InboxAct.VERIFY, InboxAct.SAVE, InboxAct.APPROVE),
        *(InboxAct.RETRY, InboxAct.ANSWER),
    ),
    "a": (InboxAct.STANDING,),
    "b": (InboxAct.BOTH_HOLD,),
    "n": (InboxAct.REJECT, InboxAct.REVOKE, InboxAct.SKIP, InboxAct.DENY),
    "e": (InboxAct.EDIT,),
}
# What an act is called where it is offered, and once it is done.
_SHOWN = {
    InboxAct.CONFIRM: ("use it", "In use"),
    InboxAct.STANDING: ("use it in every prompt", "In use in every prompt"),
    InboxAct.EDIT: ("change it and use it", "Changed and in use"),
    InboxAct.REPLACE: ("replace the old one", "In use, and the old one replaced"),
    InboxAct.BOTH_HOLD: ("both hold", "In use beside the other"),
    InboxAct.REJECT: ("turn it down", "Turned down"),
    InboxAct.VERIFY: ("keep it", "Kept"),
    InboxAct.REVOKE: ("take it back", "Taken back"),
    InboxAct.SAVE: ("save it as a skill", "Saved as a skill"),
    InboxAct.SKIP: ("skip it", "Skipped"),
    InboxAct.APPROVE: ("allow it", "Allowed"),
    InboxAct.ANSWER: ("answer", "Answered"),
    InboxAct.DENY: ("deny it", "Denied"),
    InboxAct.RETRY: ("try again", "Tried again"),
}
# What an answer is refused with where another one came first.
_DECIDED_ELSEWHERE = frozenset({"record.revision", "suggestion.moved", "approval.decided", "approval.moved"})
_HELP = (
    "An answer is carried out with your next one, or when you leave with q; u takes it back until then."
    " s leaves an item for later. After that `runlore memory rollback ID` takes back what is in use, and with"
    " --restore what it replaced is in use again; what was turned down can only be said again."
)
# What people call the kinds that have other names in the API, which are taken too.
_CALLED = {"memory": InboxKind.CANDIDATE, "skill": InboxKind.SUGGESTION, "job": InboxKind.DEAD_LETTER}
_CALLED_BY = {kind: name for name, kind in _CALLED.items()}
KindsOption = Annotated[
    frozenset[InboxKind],
    option(
        "--kind KIND",
        f"Only this kind: {', '.join(_CALLED_BY.get(kind, kind) for kind in InboxKind)}. Repeatable.",
        lambda text: _CALLED.get(text) or options.word(InboxKind, text, "kind"),
        completes=tuple(_CALLED_BY.get(kind, str(kind)) for kind in InboxKind),
    ),
]


def inbox(
    call: Invocation,
    page: options.PageOptions,
    kinds: KindsOption = frozenset(),
    *,
    list_only: Annotated[bool, option("--list", "Print the list, at a terminal too.")] = False,
) -> None:
    """Go through all that waits for you.

    At a terminal one after the other, with keys: y n e s u, ? tells what they do. Elsewhere, and with --json,
    it is printed as a list.
    """
    request = ops.InboxRequest(kinds=kinds, limit=page.limit, cursor=page.cursor)
    asks = is_terminal() and not call.as_json and not list_only
    with call.operations(works_last=not asks) as operations:
        found = operations.inbox(request)
    if found.items and asks:
        Deciding(call, request, found).go()
        return
    call.answer(answers.write(found), lambda: _show_list(found, kinds))


def waiting_text(found: ops.InboxPage, kinds: frozenset[InboxKind] = frozenset()) -> str:
    """The one sentence that says how much waits, of these kinds where some are asked for."""
    counts = {kind: found.counts.get(kind, 0) for kind in InboxKind if kind in (kinds or InboxKind)}
    number = sum(counts.values())
    if not number:
        return "None of that kind waits." if kinds else "Nothing waits for you."
    told = ", ".join(plural(count, *_WORDS[kind]) for kind, count in counts.items() if count)
    return f"{number:,} wait{'s' if number == 1 else ''} for you: {told}."


def _show_list(found: ops.InboxPage, kinds: frozenset[InboxKind]) -> None:
    say(waiting_text(found, kinds), "bold" if found.items else "green")
    if not found.items:
        return
    short = short_ids(item.id for item in found.items)
    # At a terminal the place names it, and a title begins with the name where there is one.
    has_ids = not sys.stdout.isatty()
    what = Column(title="WHAT, AND WHY IT WAITS", wraps=True, lines=True)
    show_table(
        ["", "KIND", *(["ID"] if has_ids else []), what],
        [
            (
                f"@{number}",
                (_WORDS[item.kind][0], _STYLES.get(item.kind, "")),
                *([_name_of(item) or short[item.id]] if has_ids else []),
                "\n".join([item.title, item.why, *_come_from(item)]),
            )
            for number, item in enumerate(found.items, start=1)
        ],
    )
    end_list(found.next_cursor)
    first = next((at for at, item in enumerate(found.items, 1) if InboxAct.CONFIRM in item.acts), None)
    uses = f"; `runlore memory review confirm @{first}` uses one" if first else ""
    say(f"`runlore inbox` at a terminal asks about each{uses}.", "dim")


def _come_from(item: InboxItem) -> list[str]:
    named, more = ", ".join(item.outside[:SOURCES_SHOWN]), len(item.outside) - SOURCES_SHOWN
    return [f"comes from outside: {named}{f' and {more} more' if more > 0 else ''}"] if named else []


def _name_of(item: InboxItem) -> str:
    """A suggestion's name, by which commands take it."""
    return item.title.partition(": ")[0] if item.kind is InboxKind.SUGGESTION else ""


@dataclass(frozen=True, kw_only=True)
class PendingAct:
    """An answer that was given and not carried out yet; `shown` is the record as it was read."""

    place: int
    item: InboxItem
    act: InboxAct
    text: str | None = None
    shown: Record | None = None


class Deciding:
    """One person at a terminal, going through the list."""

    def __init__(self, call: Invocation, request: ops.InboxRequest, found: ops.InboxPage) -> None:
        self._call = call
        self._request = request
        self._queue = list(found.items)
        self._cursor = found.next_cursor
        self._total = sum(found.counts[kind] for kind in request.kinds or InboxKind)
        self._pending: PendingAct | None = None
        self._done = 0
        self._has_saved = False
        self._shown: Record | None = None
        say(waiting_text(found, request.kinds), "bold")

    def go(self) -> None:
        """Ask about each. What was answered before somebody stops is carried out; Ctrl-C drops the last."""
        place = 0
        try:
            while (step := self._ask(place)) is not None:
                place = step
        except KeyboardInterrupt:
            say("")
            self._tell_dropped()
            self._end()
            raise typer.Exit(STOPPED) from None
        except RunloreError:
            self._tell_dropped()
            raise
        self._settle()
        self._end()

    def _tell_dropped(self) -> None:
        if self._pending is not None:
            say("The last answer was dropped; it still waits.", "yellow")

    def _end(self) -> None:
        with self._call.operations() as operations:
            found = operations.inbox(ops.InboxRequest(limit=1))
            if self._has_saved:
                bring_mounts_up_to_date(self._call, operations)
        left = sum(found.counts.values())
        say(f"{self._done:,} decided, {left:,} still wait{'s' if left == 1 else ''}.")

    def _ask(self, place: int) -> int | None:
        """One question: the place of the next, or None at the end."""
        if place >= len(self._queue) and not self._read_on():
            return self._ask_last()
        item = self._queue[place]
        self._show(item, place)
        while True:
            key = read_key(_question(item))
            if key in ("q", ""):
                return None
            if key == "?":
                say(f"   {_HELP}", "dim")
            elif key == "u":
                if self._pending is None:
                    say("   There is nothing to take back.", "yellow")
                else:
                    return self._take_back()
            elif key == "s":
                self._settle()
                return place + 1
            elif (act := _act_of(key, item)) is not None:
                pending = self._prepare(place, item, act)
                if pending is not None:
                    self._settle()
                    self._pending = pending
                    say(f"   → {_SHOWN[act][0]}; u takes it back, the next answer carries it out", "dim")
                    return place + 1
            else:
                named = repr(key) if key.isprintable() else "That key"
                say(f"   {named} is no answer here; ? tells what the keys do.", "yellow")

    def _ask_last(self) -> int | None:
        if self._pending is None:
            return None
        say("")
        key = read_key("That was the last one. [u=undo, any other key ends]: ")
        return self._take_back() if key == "u" else None

    def _take_back(self) -> int:
        assert self._pending is not None
        place, self._pending = self._pending.place, None
        say("   Taken back.", "green")
        return place

    def _read_on(self) -> bool:
        if self._cursor is None:
            return False
        request = ops.InboxRequest(kinds=self._request.kinds, limit=_PAGE, cursor=self._cursor)
        with self._call.operations(works_last=False) as operations:
            more = operations.inbox(request)
        self._queue += more.items
        self._cursor = more.next_cursor
        return bool(more.items)

    def _prepare(self, place: int, item: InboxItem, act: InboxAct) -> PendingAct | None:
        """The answer with what it needs; None where the person thought better of it."""
        is_asked = item.outside and act not in _KEYS["n"]
        if is_asked and read_key("   It comes from outside. Have you read it? [y/n]: ") != "y":
            return None
        text = None
        if act in (InboxAct.EDIT, InboxAct.ANSWER):
            before = self._shown.summary if self._shown and act is InboxAct.EDIT else ""
            text = (read_line("   The text [Enter alone leaves it]: ", before=before) or "").strip()
            if text in ("", before):
                return None
        return PendingAct(place=place, item=item, act=act, text=text, shown=self._shown)

    def _settle(self) -> None:
        """Carry out what was answered; what somebody else decided meanwhile is told, and the rest goes on."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        what = " ".join((pending.text or _name_of(pending.item) or pending.item.title).split())
        try:
            with self._call.operations(works_last=False) as operations:
                _carry_out(operations, _bring_up_to_date(operations, pending))
        except KeyboardInterrupt:
            say(excerpt(f"   Stopped while it was carried out: {what}", _columns()), "yellow")
            say("   `runlore inbox --list` shows whether it still waits.", "yellow")
            raise
        except RunloreError as error:
            is_theirs = error.code in _DECIDED_ELSEWHERE
            sentence = "somebody else has decided on it, or changed it" if is_theirs else error.sentence
            say(excerpt(f"   Not done: {what}", _columns()), "red")
            say(f"   {sentence} [{error.code}]", "red")
            if error.hint and not is_theirs:
                say(f"   {error.hint}", "yellow")
        else:
            self._done += 1
            self._has_saved |= pending.act is InboxAct.SAVE
            say(excerpt(f"   {_SHOWN[pending.act][1]}: {what}", _columns()), "green")

    def _show(self, item: InboxItem, place: int) -> None:
        say("")
        total = max(self._total, len(self._queue))
        name = f": {_name_of(item)}" if _name_of(item) else ""
        say(f"{place + 1:,} of {total:,}  {_WORDS[item.kind][0]}{name}", "bold")
        with self._call.operations(works_last=False) as operations:
            try:
                self._shown = _SHOW.get(item.kind, _show_record)(self._call, operations, item)
            except Unavailable:
                raise
            except RunloreError as error:
                say(f"   {error.sentence}", "yellow")
        for line in _come_from(item) if item.kind is not InboxKind.SUGGESTION else ():
            say(f"   {line}", "red")


def _act_of(key: str, item: InboxItem) -> InboxAct | None:
    return next((act for act in _KEYS.get(key, ()) if act in item.acts), None)


def _question(item: InboxItem) -> str:
    acts = ((key, _act_of(key, item)) for key in _KEYS)
    told = [f"{key}={_SHOWN[act][0]}" for key, act in acts if act is not None]
    # A line ends between two keys, never within what one does.
    text = f"[{', '.join(told)}, s=later, u=undo, ?, q]:".replace(" ", "\xa0").replace(",\xa0", ", ")
    lines = textwrap.fill(text, _columns(), initial_indent="   ", subsequent_indent="    ")
    return f"{lines.replace(chr(0xA0), ' ')} "


def _columns() -> int:
    return max(shutil.get_terminal_size().columns - 2, TEXT_COLUMNS_MIN)


def _show_record(call: Invocation, operations: ops.Operations, item: InboxItem) -> Record:
    record = operations.get_record(RecordId(item.id))
    where = kind_text(record.kind, record.scope, call.project_names(operations, [record]))
    if item.against:
        show_beside(item.against, record.summary)
    else:
        show_lines(record.summary, "green")
    say(f"   {where}: {item.why}", "dim")
    for reference in record.evidence_refs[:3]:
        if reference.run_id is None:
            say(f"   evidence: {evidence_text(reference)}", "dim")
        else:
            say(f"   {_seen_text(operations, RunId(reference.run_id), record.summary)}")
    return record


def _seen_text(operations: ops.Operations, run_id: RunId, said: str) -> str:
    """When a run showed something, in which session, and what it was asked, without saying anything twice."""
    view = operations.get_run(run_id)
    told = [" ".join(text.split()) for text in (said, view.request)]
    title = " ".join((operations.get_session(view.run.session_id).title or "").split())
    is_said = told[0].casefold() == told[1].casefold()
    in_session = "" if not title or told[1].startswith(title.rstrip("…")) else f" in “{excerpt(title, 60)}”"
    asked = "" if is_said else f": {excerpt(told[1], _QUOTED_CHARS_MAX)}"
    return f"seen on {view.run.opened_at:%-d %B %Y}{in_session}{asked}"


def show_beside(against: Sequence[InUse], new: str) -> None:
    columns = [
        Column(title=title, wraps=True, lines=True, labelled=True, columns_min=16) for title in ("NOW", "NEW")
    ]
    rows = [((old.title, "dim"), (new if not number else "", "green")) for number, old in enumerate(against)]
    show_table(columns, rows, indent=3)


def _show_suggestion(_call: Invocation, operations: ops.Operations, item: InboxItem) -> None:
    show_suggestion(operations.get_suggestion(item.id))


def _show_approval(_call: Invocation, operations: ops.Operations, item: InboxItem) -> None:
    approval = operations.get_approval(ApprovalId(item.id))
    show_lines(approval.question or approval.tool, "green")
    show_arguments(approval)
    say(f"   {item.why}", "dim")


def _show_job(_call: Invocation, _operations: ops.Operations, item: InboxItem) -> None:
    say(f"   {item.title}", "green")
    say(f"   {item.why}", "dim")


_SHOW: dict[InboxKind, Callable[[Invocation, ops.Operations, InboxItem], Record | None]] = {
    InboxKind.SUGGESTION: _show_suggestion,
    InboxKind.APPROVAL: _show_approval,
    InboxKind.DEAD_LETTER: _show_job,
}


def _bring_up_to_date(operations: ops.Operations, pending: PendingAct) -> PendingAct:
    """The answer for the record as it is now, where it says what was read: what a review in the background
    notes beside it changes nothing for whoever has read it."""
    if pending.shown is None:
        return pending
    record = operations.get_record(pending.shown.record_id)
    if _what_is_read(record) != _what_is_read(pending.shown):
        return pending
    return replace(pending, item=replace(pending.item, revision=record.revision))


def _what_is_read(record: Record) -> tuple[object, ...]:
    return record.state, record.summary, record.provenance, record.scope


def _carry_out(operations: ops.Operations, pending: PendingAct) -> None:
    item, act, text = pending.item, pending.act, pending.text
    if item.kind is InboxKind.SUGGESTION:
        if act is InboxAct.SKIP:
            _skip_as_read(operations, item)
        else:
            operations.save_skill(
                ops.SaveSkill(
                    suggestion=item.id,
                    accept_untrusted=bool(item.outside),
                    expected_revision=item.revision,
                )
            )
    elif item.kind is InboxKind.APPROVAL:
        approve = None if act is InboxAct.ANSWER else act is InboxAct.APPROVE
        decision = ops.ApprovalDecision(approval_id=ApprovalId(item.id), approve=approve, answer=text)
        operations.decide_approval(decision)
    elif item.kind is InboxKind.DEAD_LETTER:
        operations.retry_job(JobId(item.id))
    elif InboxAct.REVOKE in item.acts:
        _carry_out_on_learning(operations, item, act)
    else:
        _carry_out_on_candidate(operations, pending)


def _skip_as_read(operations: ops.Operations, item: InboxItem) -> None:
    """Skip a suggestion as it was read: of a skill that was made of it meanwhile nothing is skipped."""
    stored = operations.get_suggestion(item.id)
    if stored.revision != item.revision:
        raise Conflict(
            f"suggestion {stored.suggestion.name} was changed since it was read",
            code="suggestion.moved",
            hint=f"`runlore skill suggestions show {stored.suggestion.name}` shows it; decide anew",
        )
    operations.skip_suggestion(stored.suggestion_id)


def _carry_out_on_learning(operations: ops.Operations, item: InboxItem, act: InboxAct) -> None:
    name, seen = RecordId(item.id), item.revision
    if act is InboxAct.REVOKE:
        operations.revoke(ops.Decision(record_id=name, expected_revision=seen))
        return
    both = tuple(each.record_id for each in item.against) if act is InboxAct.BOTH_HOLD else ()
    request = ops.VerifyRequest(record_id=name, on_my_word=True, both_hold=both, expected_revision=seen)
    operations.verify(request)


def _carry_out_on_candidate(operations: ops.Operations, pending: PendingAct) -> None:
    item, act = pending.item, pending.act
    against = tuple(each.record_id for each in item.against)
    decision = ops.Decision(
        record_id=RecordId(item.id),
        expected_revision=item.revision,
        summary=pending.text,
        supersedes=against[0] if act is InboxAct.REPLACE else None,
        both_hold=against if act is InboxAct.BOTH_HOLD else (),
        standing=True if act is InboxAct.STANDING else None,
        accept_untrusted=bool(item.outside) and act is not InboxAct.REJECT,
    )
    (operations.reject if act is InboxAct.REJECT else operations.confirm)(decision)


def read_key(prompt: str) -> str:
    """One key, without Enter; empty at the end of the input. What was typed before it was asked for is thrown
    away, so that nothing pasted decides anything."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSAFLUSH)
        sys.stdout.write(prompt)
        sys.stdout.flush()
        typed = os.read(terminal, 64)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    key = "" if typed in (b"", b"\x04") else typed.decode(errors="replace")
    say(key if key.isprintable() else "")
    return key.lower()
