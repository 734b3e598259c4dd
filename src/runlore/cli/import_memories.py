"""`runlore import`: what another memory system or an instruction file holds becomes candidates."""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from runlore.cli import options
from runlore.cli.inbox import read_key
from runlore.cli.invocation import Invocation
from runlore.cli.remember import find_project, guess_candidate
from runlore.cli.skills.prompt import is_terminal
from runlore.cli.terminal import Column, progress_bar, say, show_table
from runlore.cli.typer_commands import argument, option
from runlore.daemon.mining.foreign_memories import SYSTEM_NAMES, read_foreign_memories
from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.record import EvidenceRef, JsonObject, Kind, Source, State, StateReason
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.ports import operations as ops
from runlore.ports.foreign_memories import ForeignMemory
from runlore.ports.operations.paging import paginate

_SHOWN_MAX = 20
_CONFIDENCE = 60
_REJECTED = frozenset({StateReason.REJECTED})
_OF_ANOTHER = "of another project: import it from that folder"
_TURNED_DOWN = "turned down before"
_TOO_LONG = f"longer than {limits.SUMMARY_CHARS_MAX} characters"


def import_memories(
    call: Invocation,
    path: Annotated[str, argument("PATH", "A file or folder of another memory system.")],
    *,
    system: Annotated[
        str | None,
        option("--from SYSTEM", f"Who wrote it: {', '.join(SYSTEM_NAMES)}; guessed."),
    ] = None,
    scope: Annotated[
        Scope | None, option("--scope KIND[:ID]", "Where it holds; guessed.", Scope.parse, "scope")
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", "Show what would be proposed, and propose nothing.")
    ] = False,
    yes: options.YesOption = False,
) -> None:
    """Bring along what another memory system or an instruction file holds.

    Each sentence becomes a candidate that waits in your inbox, with where it comes from, and is used once you
    say so. Nothing is proposed twice. Without a terminal nothing is proposed unless --yes is given.
    """
    found = read_foreign_memories(path, system)
    left_out: Counter[str] = Counter()
    # Instructions hold where they lie; what was remembered elsewhere may be about the project one is in.
    lies_there = found.system == "instructions"
    folder = (path if os.path.isdir(path) else os.path.dirname(path)) if lies_there else ""
    with call.operations() as operations:
        project = find_project(operations, os.path.abspath(folder))
        turned_down = frozenset(_list_turned_down(operations, found.system))
    wanted = [each for each in found.memories if not _is_left_out(each, turned_down, left_out)]
    if lies_there and scope is None:
        scope = WORKSPACE if project is None else Scope(ScopeKind.PROJECT, project)
    drafts = [_draft(each, found.system, project, scope) for each in wanted]
    is_asked = is_terminal() and not call.as_json and not yes and not dry_run
    if not call.as_json:
        _show(found.system, drafts, left_out)
    proposed: list[ops.NewCandidate] | None = None
    if drafts and not dry_run and (yes or (is_asked and read_key("Propose them? [y, n]: ") == "y")):
        with call.operations() as operations, progress_bar("Proposing", hidden=call.as_json) as progress:
            proposed = []
            for number, draft in enumerate(drafts):
                proposed += [draft] if _propose(operations, draft, left_out) else []
                progress(number + 1, len(drafts))
    shown = drafts if proposed is None else proposed
    answer: JsonObject = {
        "system": found.system,
        "found": len(found.memories),
        "proposed": len(proposed or ()),
        "left_out": dict(left_out),
        "items": [{"kind": each.kind, "scope": str(each.scope), "content": each.content} for each in shown],
    }
    call.answer(answer, lambda: _tell_end(len(proposed or ()), left_out, asked=is_asked or yes))


def _list_turned_down(operations: ops.Operations, system: str) -> Iterator[str]:
    """What was brought along before and is not wanted."""
    where = ops.Filters(states=frozenset({State.TOMBSTONED}))
    for record in paginate(
        operations.list_records, ops.ListRequest(filters=where, limit=limits.LIST_LIMIT_MAX)
    ):
        if record.state_reason in _REJECTED and record.source.agent == system:
            yield record.summary


def _is_left_out(memory: ForeignMemory, turned_down: Collection[str], left_out: Counter[str]) -> bool:
    """Whether it cannot be proposed here; why is counted."""
    here = os.path.basename(os.getcwd())
    why = (
        _TOO_LONG
        if len(memory.text) > limits.SUMMARY_CHARS_MAX
        else _OF_ANOTHER
        if memory.project and memory.project != here
        else _TURNED_DOWN
        if memory.text in turned_down
        else ""
    )
    if why:
        left_out[why] += 1
    return bool(why)


def _draft(memory: ForeignMemory, system: str, project: str | None, scope: Scope | None) -> ops.NewCandidate:
    note = " ".join(
        filter(None, (f"{system} {memory.id}", memory.place and f"in {memory.place}", memory.noted_at))
    )
    key = hashlib.sha256("\0".join((note, memory.text)).encode(errors="replace")).hexdigest()
    said = ops.NewCandidate(
        kind=Kind.FACT,
        content=memory.text,
        confidence=_CONFIDENCE,
        source=Source(agent=system),
        evidence_refs=(EvidenceRef(note=note[: limits.REASON_CHARS_MAX]),),
        idempotency_key=f"import-{key}",
    )
    draft = guess_candidate(said, None, project)
    return draft if scope is None else replace(draft, scope=scope)


def _propose(operations: ops.Operations, draft: ops.NewCandidate, left_out: Counter[str]) -> bool:
    try:
        made = operations.create_candidate(draft)
    except (Invalid, Refused) as error:
        left_out[f"refused: {error.code}"] += 1
        return False
    if made.published_at is None:
        return True
    left_out["known already"] += 1
    return False


def _show(system: str, drafts: Sequence[ops.NewCandidate], left_out: Counter[str]) -> None:
    say(f"{system}: {len(drafts)} to propose", "bold")
    rows = [(each.content, each.kind.value, str(each.scope)) for each in drafts[:_SHOWN_MAX]]
    if rows:
        show_table((Column(title="WHAT", wraps=True), Column(title="KIND"), Column(title="SCOPE")), rows)
    if len(drafts) > _SHOWN_MAX:
        say(f"and {len(drafts) - _SHOWN_MAX} more; --json shows all", "dim")
    for why, count in left_out.items():
        say(f"{count} left out: {why}", "yellow")


def _tell_end(proposed: int, left_out: Counter[str], *, asked: bool) -> None:
    if proposed:
        say(
            f"{proposed} {'waits' if proposed == 1 else 'wait'} in your inbox: `runlore inbox` decides.",
            "green",
        )
    elif asked:
        say("Nothing was proposed.", "dim")
    else:
        say("Nothing was proposed yet: --yes proposes them.", "dim")
    for why, count in left_out.items():
        if why.startswith(("refused", "known")):
            say(f"{count} {why}", "yellow")
