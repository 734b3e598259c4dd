"""Runlore's own agent: what its runs wait for, and what their streams tell."""

from dataclasses import dataclass
from enum import StrEnum

from runlore.daemon.answers.sessions import run_from_plain, run_to_plain
from runlore.daemon.answers.shapes import as_document, cursor_of, each, items_of, listed, reader
from runlore.domain import approval_plain
from runlore.domain.approval import Approval
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.representation import Plain, as_object, as_text, as_whole
from runlore.ports import operations as ops


def approval_to_plain(approval: Approval) -> Plain:
    """What a run waits for, and what was decided about it."""
    return approval_plain.approval_to_plain(approval)


@reader
def approval_from_plain(plain: JsonValue) -> Approval:
    """Read what a run waits for."""
    return approval_plain.approval_from_plain(plain)


def approvals_to_plain(page: ops.ApprovalPage) -> Plain:
    """A page of what runs wait for."""
    return listed(map(approval_to_plain, page.items), page.next_cursor)


@reader
def approvals_from_plain(plain: JsonValue) -> ops.ApprovalPage:
    """Read a page of what runs wait for."""
    return ops.ApprovalPage(items=items_of(plain, approval_from_plain), next_cursor=cursor_of(plain))


def run_event_to_plain(event: ops.RunEvent) -> Plain:
    """One event of a run's stream."""
    return {"kind": event.kind.value, "number": event.number, "data": event.data}


@reader
def run_event_from_plain(plain: JsonValue) -> ops.RunEvent:
    """Read one event of a run's stream."""
    fields = as_object(plain)
    return ops.RunEvent(
        kind=ops.RunEventKind(as_text(fields["kind"])),
        number=as_whole(fields["number"]),
        data=as_document(fields["data"]),
    )


class Became(StrEnum):
    """What has become of a pattern by the end of a run: a skill, or why it is none."""

    SAVED = "saved"
    DECLINED = "declined"
    SUPPRESSED = "suppressed"
    # A model words it better first.
    IMPROVING = "improving"
    # For somebody to decide about.
    WAITING = "waiting"
    # It was a skill before.
    KNOWN = "known"


@dataclass(frozen=True, kw_only=True)
class Detected:
    """A pattern that a run shows. `reason` says why one was declined or suppressed."""

    suggestion_id: str
    name: str
    heuristic: str
    description: str
    became: Became = Became.WAITING
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class RunEnded:
    """The end of a run: how it stands, what it answered, and what was detected in it."""

    view: ops.RunView
    final_output: str
    detected: tuple[Detected, ...] = ()


def run_ended_to_plain(ended: RunEnded) -> Plain:
    """The data of the last event of a stream."""
    return {
        "run": run_to_plain(ended.view),
        "final_output": ended.final_output,
        "detected": [
            {
                "suggestion_id": found.suggestion_id,
                "name": found.name,
                "heuristic": found.heuristic,
                "description": found.description,
                "became": found.became.value,
                "reason": found.reason,
            }
            for found in ended.detected
        ],
    }


@reader
def run_ended_from_plain(plain: JsonValue) -> RunEnded:
    """Read the data of the last event of a stream."""
    fields = as_object(plain)
    return RunEnded(
        view=run_from_plain(fields["run"]),
        final_output=as_text(fields["final_output"]),
        detected=each(_read_detected, fields["detected"]),
    )


def text_of_event(data: JsonObject) -> str:
    """The words of a `text`, `output` or `remark`; empty where it has none."""
    text = data.get("text", "")
    return text if isinstance(text, str) else ""


def _read_detected(plain: JsonValue) -> Detected:
    fields = as_object(plain)
    return Detected(
        suggestion_id=as_text(fields["suggestion_id"]),
        name=as_text(fields["name"]),
        heuristic=as_text(fields["heuristic"]),
        description=as_text(fields["description"]),
        became=Became(as_text(fields["became"])),
        reason=as_text(fields["reason"]),
    )
