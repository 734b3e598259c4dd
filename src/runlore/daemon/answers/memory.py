"""What a session is eligible for, what it finds, and what one of its runs was given."""

from collections.abc import Iterable

from runlore.daemon.answers.projection import (
    read_rebuilt,
    rebuilt_to_plain,
    receipt_from_plain,
    receipt_to_plain,
)
from runlore.daemon.answers.sessions import run_from_plain, run_to_plain
from runlore.daemon.answers.shapes import (
    each,
    flag,
    optional,
    optional_text,
    optional_whole,
    reader,
    scope_from_plain,
    scope_to_plain,
    scopes_to_plain,
    texts,
    time_of,
)
from runlore.domain.capability import capability_scope_of, plain_capability_scope
from runlore.domain.projection import LearnedEntry
from runlore.domain.record import JsonValue, Kind, RecordId
from runlore.domain.representation import Plain, as_object, as_text, as_whole
from runlore.domain.run import ArtifactId, RunId, RunStatus
from runlore.domain.run_memory import CaptureState, RunMemory
from runlore.domain.session import SessionId
from runlore.domain.timestamps import format_time
from runlore.domain.visibility import Hidden
from runlore.ports import operations as ops


def memory_context_to_plain(context: ops.MemoryContext) -> Plain:
    """What a session is eligible for before packing, and why the rest is hidden."""
    learned, recovered = context.learned_context, context.recovered_memory
    return {
        "session_id": context.session_id,
        "capability_scope": plain_capability_scope(context.capability_scope),
        "learning_scopes": scopes_to_plain(context.learning_scopes),
        "learned_context": {
            "entries": _learned_to_plain(learned.entries),
            "truncated": learned.truncated,
            "omitted": learned.omitted,
        },
        "recovered_memory": {
            "entries": [run_memory_to_plain(entry) for entry in recovered.entries],
            "truncated": recovered.truncated,
            "omitted": recovered.omitted,
        },
        "visible_skills": list(context.visible_skills),
        "skill_descriptions": dict(context.skill_descriptions),
        "hidden": [{"record_id": record_id, "reason": why.value} for record_id, why in context.hidden],
        "hidden_omitted": context.hidden_omitted,
        "semantic": context.semantic,
        "remark": context.remark or None,
    }


@reader
def memory_context_from_plain(plain: JsonValue) -> ops.MemoryContext:
    """Read what a session is eligible for."""
    fields = as_object(plain)
    learned, recovered = as_object(fields["learned_context"]), as_object(fields["recovered_memory"])
    return ops.MemoryContext(
        session_id=SessionId(as_text(fields["session_id"])),
        capability_scope=capability_scope_of(as_object(fields["capability_scope"])),
        learning_scopes=each(scope_from_plain, fields["learning_scopes"]),
        learned_context=ops.LearnedContext(
            entries=each(_read_learned, learned["entries"]),
            truncated=flag(learned["truncated"]),
            omitted=as_whole(learned["omitted"]),
        ),
        recovered_memory=ops.RecoveredMemory(
            entries=each(run_memory_from_plain, recovered["entries"]),
            truncated=flag(recovered["truncated"]),
            omitted=as_whole(recovered["omitted"]),
        ),
        visible_skills=texts(fields["visible_skills"]),
        skill_descriptions={
            name: as_text(told) for name, told in as_object(fields.get("skill_descriptions", {})).items()
        },
        hidden=each(_read_hidden, fields["hidden"]),
        hidden_omitted=as_whole(fields["hidden_omitted"]),
        semantic=flag(fields.get("semantic", False)),
        remark=optional_text(fields.get("remark")) or "",
    )


def run_memory_to_plain(memory: RunMemory) -> Plain:
    """What is remembered of a run."""
    return {
        "run_id": memory.run_id,
        "session_id": memory.session_id,
        "status": memory.status.value,
        "captured_at": format_time(memory.captured_at),
        "summary": memory.summary,
        "request_preview": memory.request_preview,
        "outcome_preview": memory.outcome_preview,
        "artifact_ids": list(memory.artifact_ids),
        "failure_markers": list(memory.failure_markers),
        "scope_keys": scopes_to_plain(memory.scope_keys),
        "capture": memory.capture.value,
    }


@reader
def run_memory_from_plain(plain: JsonValue) -> RunMemory:
    """Read what is remembered of a run."""
    fields = as_object(plain)
    return RunMemory(
        session_id=SessionId(as_text(fields["session_id"])),
        run_id=RunId(as_text(fields["run_id"])),
        captured_at=time_of(fields["captured_at"]),
        status=RunStatus(as_text(fields["status"])),
        summary=as_text(fields["summary"]),
        request_preview=optional_text(fields["request_preview"]),
        outcome_preview=optional_text(fields["outcome_preview"]),
        artifact_ids=tuple(ArtifactId(text) for text in texts(fields["artifact_ids"])),
        failure_markers=texts(fields["failure_markers"]),
        scope_keys=each(scope_from_plain, fields["scope_keys"]),
        capture=CaptureState(as_text(fields["capture"])),
    )


def session_search_to_plain(found: ops.SessionSearch) -> Plain:
    """What a session's search found, best first."""
    return {
        "session_id": found.session_id,
        "query": found.query,
        "results": [
            {
                "kind": hit.kind,
                "source_id": hit.source_id,
                "title": hit.title,
                "excerpt": hit.excerpt,
                "score": hit.score,
                "timestamp": format_time(hit.timestamp),
                "scope": None if hit.scope is None else scope_to_plain(hit.scope),
                "prompt_eligible": hit.prompt_eligible,
                "matched_fields": list(hit.matched_fields),
            }
            for hit in found.results
        ],
        "truncated": found.truncated,
    }


@reader
def session_search_from_plain(plain: JsonValue) -> ops.SessionSearch:
    """Read what a session's search found."""
    fields = as_object(plain)
    return ops.SessionSearch(
        session_id=SessionId(as_text(fields["session_id"])),
        query=optional_text(fields["query"]),
        results=each(_read_session_hit, fields["results"]),
        truncated=flag(fields["truncated"]),
    )


def receipt_view_to_plain(view: ops.ReceiptView) -> Plain:
    """A run with what it was given, told again."""
    return {
        "run": run_to_plain(view.run),
        "receipt": None if view.receipt is None else receipt_to_plain(view.receipt),
        "sections": [rebuilt_to_plain(section) for section in view.sections],
    }


@reader
def receipt_view_from_plain(plain: JsonValue) -> ops.ReceiptView:
    """Read what a run was given."""
    fields = as_object(plain)
    return ops.ReceiptView(
        run=run_from_plain(fields["run"]),
        receipt=optional(receipt_from_plain, fields["receipt"]),
        sections=each(read_rebuilt, fields["sections"]),
    )


def _learned_to_plain(entries: Iterable[LearnedEntry]) -> list[JsonValue]:
    plain: list[JsonValue] = []
    # Entries of a scope mostly stand together, and it is told alike for all of them.
    scope, told = None, None
    for entry in entries:
        if entry.scope is not scope:
            scope, told = entry.scope, scope_to_plain(entry.scope)
        words: Plain = {
            "record_id": entry.record_id,
            "revision": entry.revision,
            "kind": entry.kind.value,
            "scope": told,
            "content": entry.content,
            "score": entry.score,
        }
        plain.append({**words, "meaning": entry.meaning} if entry.meaning else words)
    return plain


def _read_learned(plain: JsonValue) -> LearnedEntry:
    fields = as_object(plain)
    return LearnedEntry(
        record_id=RecordId(as_text(fields["record_id"])),
        revision=as_whole(fields["revision"]),
        kind=Kind(as_text(fields["kind"])),
        scope=scope_from_plain(fields["scope"]),
        content=as_text(fields["content"]),
        score=optional_whole(fields["score"]),
        meaning=as_whole(fields.get("meaning", 0)),
    )


def _read_hidden(plain: JsonValue) -> tuple[RecordId, Hidden]:
    fields = as_object(plain)
    return RecordId(as_text(fields["record_id"])), Hidden(as_text(fields["reason"]))


def _read_session_hit(plain: JsonValue) -> ops.SessionHit:
    fields = as_object(plain)
    return ops.SessionHit(
        kind=as_text(fields["kind"]),
        source_id=as_text(fields["source_id"]),
        title=as_text(fields["title"]),
        excerpt=as_text(fields["excerpt"]),
        score=as_whole(fields["score"]),
        timestamp=time_of(fields["timestamp"]),
        scope=optional(scope_from_plain, fields["scope"]),
        prompt_eligible=flag(fields["prompt_eligible"]),
        matched_fields=texts(fields["matched_fields"]),
    )
