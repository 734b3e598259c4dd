"""Requests to a person as plain values, as they are answered. What is read back is what was written; anything
else is Corrupt (`approval.damaged`)."""

from collections.abc import Mapping
from typing import cast

from runlore.domain.approval import Approval, ApprovalId, ApprovalKind, ApprovalState
from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.representation import as_object, as_optional, as_text, as_whole
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.timestamps import format_time, parse_time

_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def approval_to_plain(approval: Approval) -> dict[str, JsonValue]:
    """A request, with what was decided."""
    return {
        "approval_id": approval.approval_id,
        "run_id": approval.run_id,
        "session_id": approval.session_id,
        "kind": approval.kind.value,
        "state": approval.state.value,
        **asked_to_plain(approval),
        "created_at": format_time(approval.created_at),
        "decided_at": None if approval.decided_at is None else format_time(approval.decided_at),
        "decided_by": approval.decided_by,
        "revision": approval.revision,
    }


def asked_to_plain(approval: Approval) -> dict[str, JsonValue]:
    """What a request says and was answered: all of it may be words of its run."""
    return {
        "call_id": approval.call_id,
        "tool": approval.tool,
        "arguments": approval.arguments,
        "why": approval.why,
        "question": approval.question,
        "answer": approval.answer,
    }


def approval_from_plain(plain: object) -> Approval:
    """Read a request."""
    try:
        return _approval(plain)
    except (RunloreError, *_UNREADABLE) as error:
        raise Corrupt(
            "a stored request to a person is damaged",
            code="approval.damaged",
            hint="restore the store from a backup",
        ) from error


def _approval(plain: object) -> Approval:
    if not isinstance(plain, Mapping):
        raise TypeError("not an object")
    body = cast("JsonObject", plain)
    return Approval(
        approval_id=ApprovalId(as_text(body["approval_id"])),
        run_id=RunId(as_text(body["run_id"])),
        session_id=SessionId(as_text(body["session_id"])),
        kind=ApprovalKind(as_text(body["kind"])),
        state=ApprovalState(as_text(body["state"])),
        call_id=as_text(body["call_id"]),
        tool=as_text(body["tool"]),
        arguments=as_object(body["arguments"]),
        why=as_text(body["why"]),
        question=as_text(body["question"]),
        answer=as_text(body["answer"]),
        created_at=parse_time(as_text(body["created_at"])),
        decided_at=as_optional(parse_time, body["decided_at"]),
        decided_by=as_text(body["decided_by"]),
        revision=as_whole(body["revision"]),
    )
