"""Records, their history, what a search found, and the table of moves."""

from collections.abc import Iterable

from runlore.daemon.answers.shapes import (
    cursor_of,
    each,
    flag,
    items_of,
    listed,
    optional,
    optional_text,
    reader,
    value_of,
)
from runlore.domain import representation
from runlore.domain.audit import RecordEvent, event_from_plain, event_to_plain
from runlore.domain.ranking import Score
from runlore.domain.record import JsonValue, Layer, Move, Record, State, StateReason, Transition
from runlore.domain.representation import Plain, as_object, as_optional, as_text, as_whole, record_to_plain
from runlore.ports import operations as ops


@reader
def record_from_plain(plain: JsonValue) -> Record:
    """Read a record that a server answered."""
    return read_record(plain)


def read_record(plain: JsonValue) -> Record:
    """A record inside another answer."""
    return representation.record_from_plain(as_object(plain))


def read_records(plain: JsonValue) -> tuple[Record, ...]:
    """Records inside another answer."""
    return each(read_record, plain)


def read_optional_record(plain: JsonValue) -> Record | None:
    """A record inside another answer, or none."""
    return optional(read_record, plain)


def page_to_plain(page: ops.Page) -> Plain:
    """A page of records."""
    return listed((record_to_plain(record) for record in page.items), page.next_cursor)


@reader
def page_from_plain(plain: JsonValue) -> ops.Page:
    """Read a page of records."""
    return ops.Page(items=items_of(plain, read_record), next_cursor=cursor_of(plain))


def records_to_plain(records: Iterable[Record]) -> Plain:
    """Records that an operation made, or all that there are."""
    return listed(record_to_plain(record) for record in records)


@reader
def records_from_plain(plain: JsonValue) -> tuple[Record, ...]:
    """Read a whole list of records."""
    return items_of(plain, read_record)


def history_to_plain(events: Iterable[RecordEvent]) -> Plain:
    """A record's events."""
    return listed(event_to_plain(event) for event in events)


@reader
def history_from_plain(plain: JsonValue) -> tuple[RecordEvent, ...]:
    """Read a record's events."""
    return items_of(plain, lambda event: event_from_plain(as_object(event)))


def hits_to_plain(query: str, hits: ops.SearchHits) -> Plain:
    """Search results: each record with its score and the score's parts."""
    found = listed(_hit_to_plain(hit) for hit in hits.items)
    return {"query": query, **found, "semantic": hits.semantic, "remark": hits.remark or None}


@reader
def hits_from_plain(plain: JsonValue) -> ops.SearchHits:
    """Read search results."""
    fields = as_object(plain)
    # An older daemon says nothing of these.
    semantic, remark = flag(fields.get("semantic", False)), optional_text(fields.get("remark"))
    return ops.SearchHits(items=items_of(plain, _read_hit), semantic=semantic, remark=remark or "")


def goal_context_to_plain(context: ops.GoalContext) -> Plain:
    """The best of each layer for a goal."""
    return {
        "goal": context.goal,
        "profile": [_hit_to_plain(hit) for hit in context.profile],
        "procedural": [_hit_to_plain(hit) for hit in context.procedural],
        "semantic": [_hit_to_plain(hit) for hit in context.semantic],
        "by_meaning": context.by_meaning,
        "remark": context.remark or None,
    }


@reader
def goal_context_from_plain(plain: JsonValue) -> ops.GoalContext:
    """Read the context of a goal."""
    fields = as_object(plain)
    return ops.GoalContext(
        goal=as_text(fields["goal"]),
        profile=each(_read_hit, fields["profile"]),
        procedural=each(_read_hit, fields["procedural"]),
        semantic=each(_read_hit, fields["semantic"]),
        by_meaning=flag(fields.get("by_meaning", False)),
        remark=optional_text(fields.get("remark")) or "",
    )


def score_to_plain(score: Score) -> Plain:
    """The parts of a score, which add up to it. What vectors add is named only where they add something."""
    words: Plain = {
        "exact": score.exact,
        "summary": score.summary,
        "metadata": score.metadata,
        "state": score.state,
        "recency": score.recency,
    }
    return {**words, "meaning": score.meaning} if score.meaning else words


def states_to_plain(rows: Iterable[Transition]) -> Plain:
    """The table of legal moves."""
    return listed(
        {
            "move": row.move.value,
            "from": value_of(row.start),
            "to": row.end.value,
            "layers": sorted(layer.value for layer in row.layers),
            "state_reason": value_of(row.reason),
            "guard": row.guard,
        }
        for row in rows
    )


@reader
def states_from_plain(plain: JsonValue) -> tuple[Transition, ...]:
    """Read the table of legal moves."""
    return items_of(plain, _read_transition)


def _hit_to_plain(hit: ops.SearchHit) -> Plain:
    return {
        **record_to_plain(hit.record),
        "score": hit.score.total,
        "score_parts": score_to_plain(hit.score),
    }


def _read_hit(plain: JsonValue) -> ops.SearchHit:
    parts = as_object(as_object(plain)["score_parts"])
    score = Score(
        exact=as_whole(parts["exact"]),
        summary=as_whole(parts["summary"]),
        metadata=as_whole(parts["metadata"]),
        state=as_whole(parts["state"]),
        recency=as_whole(parts["recency"]),
        meaning=as_whole(parts.get("meaning", 0)),
    )
    return ops.SearchHit(record=read_record(plain), score=score)


def _read_transition(plain: JsonValue) -> Transition:
    row = as_object(plain)
    return Transition(
        move=Move(as_text(row["move"])),
        start=as_optional(State, row["from"]),
        end=State(as_text(row["to"])),
        layers=frozenset(each(lambda layer: Layer(as_text(layer)), row["layers"])),
        reason=as_optional(StateReason, row["state_reason"]),
        guard=as_text(row["guard"]),
    )
