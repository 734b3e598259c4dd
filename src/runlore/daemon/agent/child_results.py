"""What a child agent came to, as its caller is told (ROL-12): its run, how that stands, and its answer."""

import orjson

from runlore.daemon.parts import Parts
from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid
from runlore.domain.record import JsonObject
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.taint_sources import PASTED
from runlore.domain.text.excerpt import excerpt
from runlore.flow.capture.provenance import run_provenance
from runlore.flow.skills.rollouts import final_output
from runlore.ports import operations as ops
from runlore.ports.runner import ToolOutcome
from runlore.ports.store import Collections

_DIFF = "diff.patch"
# What a child was told by its caller is nothing that it has read.
_TOLD = ("words of ", PASTED)


def outcome_of(parts: Parts, view: ops.RunView, *, chars_max: int) -> ToolOutcome:
    """The answer of the call that started a child. Where the child read something from outside, what it says
    counts as read there too (TNT-3)."""
    run_id = view.run.run_id
    with parts.store.snapshot() as snapshot:
        run = snapshot.runs.find(run_id) or parts.private_runs.find(run_id) or view.run
        output = final_output(snapshot, run_id) if view.stored else _unkept(parts, run)
        told: JsonObject = {"launch_run_id": run_id, "snapshot": snapshot_of(snapshot, run)}
        source = _source(snapshot, run)
    return ToolOutcome(
        output=_written(told, output, chars_max),
        is_error=run.status is not RunStatus.COMPLETED,
        source=source,
    )


def snapshot_of(collections: Collections, run: Run) -> JsonObject:
    """How a child's run stands: its status, how much it did, and where its diff is kept."""
    kinds = list(_kinds(collections, run.run_id))
    kept = collections.runs.artifact_excerpts(run.run_id, chars_max=1)
    return {
        "status": run.status.value,
        **({"error": run.error} if run.error else {}),
        **({"reason": run.reason} if run.reason else {}),
        "turns": kinds.count(EventType.USAGE),
        "tool_calls": kinds.count(EventType.TOOL_CALL),
        "diff_artifact_id": next((each.artifact_id for each in kept if each.name == _DIFF), None),
    }


def _written(told: JsonObject, output: str, chars_max: int) -> str:
    """The result with as much of the answer as fits: whoever reads it is given whole JSON."""
    room = chars_max
    while True:
        whole = {**told, "final_output": excerpt(output, room)}
        text = orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode()
        if len(text) <= chars_max or not room:
            return text
        room //= 2


def _unkept(parts: Parts, run: Run) -> str:
    """What a child said of which nothing is stored."""
    said = [each.text for each in parts.agent.unkept.of(run.session_id) if isinstance(each, AssistantSaid)]
    return said[-1] if said else ""


def _kinds(collections: Collections, run_id: RunId) -> list[EventType]:
    found: list[EventType] = []
    after = 0
    while page := collections.journal.page(run_id=run_id, after=after, limit=limits.JOURNAL_PAGE_DEFAULT):
        found += [event.type for event in page]
        after = page[-1].number
    return found


def _source(collections: Collections, run: Run) -> str:
    sources = run_provenance(collections, run).sources
    is_outside = any(not source.startswith(_TOLD) for source in sources)
    return f"runlore://runs/{run.run_id}" if is_outside else ""
