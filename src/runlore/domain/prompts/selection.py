"""Which learnings an input is given: those that its words find, best first, or none.

Only content is scored, by the one ranking. If any eligible learning scores, those that score nothing are left
out. If none scores, nothing is given but what is standing, unless the input asks for memory explicitly.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.prompts.projection import LearnedEntry
from runlore.domain.record import Record, RecordId
from runlore.domain.records.visibility import Hidden, hidden_because, hidden_from_planning
from runlore.domain.scope import Scope
from runlore.domain.search.ranking import Score
from runlore.domain.timestamps import to_milliseconds

if TYPE_CHECKING:
    from runlore.domain.claims import contradictions, subject
else:
    contradictions = LazyModule("runlore.domain.claims.contradictions")
    subject = LazyModule("runlore.domain.claims.subject")

# An input can be a megabyte long. What it is about stands at its beginning and its end.
_QUERY_PART_CHARS = 4_000


def query_of(text: str) -> str:
    """The part of an input that learnings are looked for with: all of it, or its two ends, in whole words."""
    text = text.strip()
    if len(text) <= 2 * _QUERY_PART_CHARS:
        return text
    head, tail = text[:_QUERY_PART_CHARS], text[-_QUERY_PART_CHARS:]
    whole_head = head.rstrip() if text[_QUERY_PART_CHARS].isspace() else _without_last_word(head)
    whole_tail = tail.lstrip() if text[-_QUERY_PART_CHARS - 1].isspace() else _without_first_word(tail)
    return f"{whole_head}\n{whole_tail}"


def _without_last_word(text: str) -> str:
    """Where there is no space there are no words to cut: the text as it is."""
    kept = text.rsplit(maxsplit=1)
    return kept[0] if len(kept) == 2 else text


def _without_first_word(text: str) -> str:
    kept = text.split(maxsplit=1)
    return kept[1] if len(kept) == 2 else text


def content_score(score: Score) -> int:
    """What of a score comes from content: metadata, state and age do not count here."""
    return score.exact + score.summary


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A record of a visible scope, with its content's score where there was something to score against.

    `meaning` is the part of it that vectors have added.
    """

    record: Record
    score: int | None = None
    meaning: int = 0

    @property
    def has_words(self) -> bool:
        return (self.score or 0) > self.meaning


def filter_eligible(
    candidates: Iterable[Candidate], now: datetime, *, overruled: Collection[RecordId] = ()
) -> list[Candidate]:
    found = list(candidates)
    shadowed = shadowed_by((candidate.record for candidate in found), now)
    return [
        each
        for each in found
        if hidden_because(each.record, now, shadowed=shadowed, overruled=overruled) is None
    ]


def hidden_among(
    records: Sequence[Record], now: datetime, *, overruled: Collection[RecordId] = ()
) -> dict[RecordId, Hidden]:
    """Those that a prompt may not see, each with its reason."""
    shadowed = shadowed_by(records, now)
    reasons = {
        record.record_id: hidden_because(record, now, shadowed=shadowed, overruled=overruled)
        for record in records
    }
    return {record_id: reason for record_id, reason in reasons.items() if reason is not None}


def shadowed_by(records: Iterable[Record], now: datetime) -> frozenset[RecordId]:
    """What those of the records that may be seen say they supersede, written back or not."""
    return frozenset(
        record.supersedes
        for record in records
        if record.supersedes is not None and hidden_from_planning(record, now) is None
    )


def overruled_by(
    narrow: Mapping[str, Sequence[Record]], wide: Mapping[str, Sequence[Record]]
) -> Iterator[RecordId]:
    """Those of the wide records that a narrow one overrules; both are given by their subjects."""
    for about in narrow.keys() & wide.keys():
        for record in wide[about]:
            if any(contradictions.overrules(other, record) for other in narrow[about]):
                yield record.record_id


def by_subject(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records by what they are about; one without a key is about nothing that could be compared."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.semantic_key:
            found.setdefault(subject.SemanticKey.parse(record.semantic_key).subject, []).append(record)
    return found


def order_candidates(candidates: Iterable[Candidate], scopes: Sequence[Scope]) -> list[Candidate]:
    """By score, then the priority of the scope, then the latest published, then the id."""
    priority = {scope: place for place, scope in enumerate(scopes)}

    def place(candidate: Candidate) -> tuple[int, int, int, RecordId]:
        record = candidate.record
        published_ms = to_milliseconds(record.published_at or record.created_at)
        scope_place = priority.get(record.scope, len(priority))
        return (-(candidate.score or 0), scope_place, -published_ms, record.record_id)

    return sorted(candidates, key=place)


def entry_of(candidate: Candidate) -> LearnedEntry:
    record = candidate.record
    return LearnedEntry(
        record_id=record.record_id,
        revision=record.revision,
        kind=record.kind,
        scope=record.scope,
        content=record.summary,
        score=candidate.score,
        meaning=candidate.meaning,
        standing=record.standing,
        doubt=record.doubt,
    )
