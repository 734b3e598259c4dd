"""Skills learned from transcripts: suggestions, what became of imported runs, how far sources were read.

The runs that are sent are here too: `told_run_to_plain` writes one as a call's body has it.
"""

from collections.abc import Iterable, Mapping

from runlore.daemon.answers.shapes import (
    cursor_of,
    each,
    items_of,
    listed,
    numbers,
    optional_time,
    reader,
    time_of,
    time_to_plain,
)
from runlore.domain.record import JsonValue
from runlore.domain.representation import Plain, as_object, as_text, as_whole
from runlore.domain.suggesting.plain import suggestion_from_plain, suggestion_to_plain
from runlore.domain.suggestion import StoredSuggestion, SuggestionId, SuggestionState
from runlore.domain.timestamps import format_time
from runlore.domain.transcript import Position, ToldEvent, ToldRun
from runlore.ports import operations as ops

_QUEUED = (
    *("suggestion_id", "state", "state_actor", "skipped_at", "times_skipped"),
    *("created_at", "updated_at", "revision"),
)


def stored_suggestion_to_plain(stored: StoredSuggestion) -> Plain:
    """A suggestion, and its place in the queue."""
    return {
        "suggestion_id": stored.suggestion_id,
        **suggestion_to_plain(stored.suggestion),
        "state": stored.state.value,
        "state_actor": stored.state_actor,
        "skipped_at": time_to_plain(stored.skipped_at),
        "times_skipped": stored.times_skipped,
        "created_at": format_time(stored.created_at),
        "updated_at": format_time(stored.updated_at),
        "revision": stored.revision,
    }


@reader
def stored_suggestion_from_plain(plain: JsonValue) -> StoredSuggestion:
    """Read a suggestion."""
    return _read_stored(plain)


def suggestions_to_plain(page: ops.SuggestionPage) -> Plain:
    """A page of suggestions."""
    return listed(map(stored_suggestion_to_plain, page.items), page.next_cursor)


@reader
def suggestions_from_plain(plain: JsonValue) -> ops.SuggestionPage:
    """Read a page of suggestions."""
    return ops.SuggestionPage(items=items_of(plain, _read_stored), next_cursor=cursor_of(plain))


def detected_to_plain(answer: ops.SuggestAnswer) -> Plain:
    """What the detectors found in all that was mined."""
    return {
        "runs": answer.runs,
        "sessions": answer.sessions,
        "new": [stored_suggestion_to_plain(stored) for stored in answer.new],
        "seen_again": answer.seen_again,
        "candidates": answer.candidates,
        "suppressed": answer.suppressed,
        "enhancing": answer.enhancing,
        "paused": answer.paused,
    }


@reader
def detected_from_plain(plain: JsonValue) -> ops.SuggestAnswer:
    """Read what the detectors found."""
    fields = as_object(plain)
    return ops.SuggestAnswer(
        runs=as_whole(fields["runs"]),
        sessions=as_whole(fields["sessions"]),
        new=each(_read_stored, fields["new"]),
        seen_again=as_whole(fields["seen_again"]),
        candidates=as_whole(fields["candidates"]),
        suppressed=as_whole(fields["suppressed"]),
        enhancing=as_whole(fields["enhancing"]),
        paused=fields.get("paused") is True,
    )


def imported_runs_to_plain(answer: ops.ImportedRuns) -> Plain:
    """What became of runs."""
    return {
        "stored": answer.stored,
        "known": answer.known,
        "left": answer.left,
        "sessions": answer.sessions,
        "events": answer.events,
        "reasons": {str(reason): number for reason, number in answer.reasons.items()},
        "beyond_retention": answer.beyond_retention,
    }


@reader
def imported_runs_from_plain(plain: JsonValue) -> ops.ImportedRuns:
    """Read what became of runs."""
    fields = as_object(plain)
    return ops.ImportedRuns(
        stored=as_whole(fields["stored"]),
        known=as_whole(fields["known"]),
        left=as_whole(fields["left"]),
        sessions=as_whole(fields["sessions"]),
        events=as_whole(fields["events"]),
        reasons=numbers(fields["reasons"]),
        beyond_retention=as_whole(fields["beyond_retention"]),
    )


def positions_to_plain(positions: Mapping[str, Position]) -> Plain:
    """How far sources have been read."""
    return listed({"source": source, **position_to_plain(found)} for source, found in positions.items())


@reader
def positions_from_plain(plain: JsonValue) -> dict[str, Position]:
    """Read how far sources have been read."""
    return dict(items_of(plain, _read_source))


def position_to_plain(position: Position) -> Plain:
    """How far one source has been read."""
    return {
        "offset": position.offset,
        "line": position.line,
        "fingerprint": position.fingerprint,
        "carried": dict(position.carried),
    }


def told_run_to_plain(run: ToldRun) -> Plain:
    """A run as it is sent."""
    return {
        "agent": run.agent.value,
        "source_session": run.source_session,
        "ordinal": run.ordinal,
        "first_number": run.first_number,
        "events": [_told_event_to_plain(event) for event in run.events],
        "status": run.status.value,
        "folder": run.folder,
        "branch": run.branch,
        "model": run.model,
        "agent_version": run.agent_version,
        "title": run.title,
        "after": position_to_plain(run.after),
        "is_whole": run.is_whole,
        "project": run.project,
        "project_name": run.project_name,
        "project_folder": run.project_folder,
        "parent_session": run.parent_session,
    }


def _told_event_to_plain(event: ToldEvent) -> Plain:
    return {"type": event.entry.type.value, "at": time_to_plain(event.at), "body": event.entry.body}


def stored_suggestions_to_plain(stored: Iterable[StoredSuggestion]) -> Plain:
    """Several suggestions."""
    return listed(map(stored_suggestion_to_plain, stored))


@reader
def stored_suggestions_from_plain(plain: JsonValue) -> tuple[StoredSuggestion, ...]:
    """Read several suggestions."""
    return items_of(plain, _read_stored)


def _read_stored(plain: JsonValue) -> StoredSuggestion:
    fields = as_object(plain)
    said = {name: value for name, value in fields.items() if name not in _QUEUED}
    return StoredSuggestion(
        suggestion_id=SuggestionId(as_text(fields["suggestion_id"])),
        suggestion=suggestion_from_plain(said),
        state=SuggestionState(as_text(fields["state"])),
        state_actor=as_text(fields["state_actor"]),
        skipped_at=optional_time(fields["skipped_at"]),
        times_skipped=as_whole(fields["times_skipped"]),
        created_at=time_of(fields["created_at"]),
        updated_at=time_of(fields["updated_at"]),
        revision=as_whole(fields["revision"]),
    )


def _read_source(plain: JsonValue) -> tuple[str, Position]:
    fields = as_object(plain)
    position = Position(
        offset=as_whole(fields["offset"]),
        line=as_whole(fields["line"]),
        fingerprint=as_text(fields["fingerprint"]),
        carried={name: _text_or_whole(value) for name, value in as_object(fields["carried"]).items()},
    )
    return as_text(fields["source"]), position


def _text_or_whole(value: JsonValue) -> str | int:
    return value if isinstance(value, str) else as_whole(value)
