"""A made-up memory of any size: short records whose words are as unevenly used as those of real texts.

Word number r is drawn in proportion to 1 / (r + 2.7), Zipf's law as Mandelbrot corrected it. Of 100,000 words
the most common stands in a third of the records, and a query of 12 words has about half a million postings in
a million records. The same number of records is always the same records.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

from runlore.domain.record import Kind, Record, RecordId, Sensitivity, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUERY_WORDS = 12
PROJECTS = tuple(Scope(ScopeKind.PROJECT, f"project-{number}") for number in range(20))

_VOCABULARY = 100_000
_SHIFT = 2.7
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfghklmnprtvwz" for vowel in "aeiou")
_STATES = (State.ACTIVE,) * 8 + (State.SUPERSEDED, State.TOMBSTONED)
_KINDS = (Kind.FACT,) * 5 + (Kind.DECISION, Kind.PROCEDURE, Kind.PREFERENCE, Kind.RUN_SUMMARY, Kind.SCAN)
_WEIGHTS = tuple(accumulate(1 / (rank + 1 + _SHIFT) for rank in range(_VOCABULARY)))


def _word(rank: int) -> str:
    """A word for a rank: common ones are short, none is another's beginning by design."""
    count = len(_SYLLABLES)
    number = rank
    syllables: list[str] = []
    while number or not syllables:
        number, last = divmod(number, count)
        syllables.append(_SYLLABLES[last])
    return "".join(syllables) + "q"


WORDS = tuple(_word(rank) for rank in range(_VOCABULARY))


def corpus(size: int) -> Iterator[Record]:
    """So many records, the oldest first, one every minute up to now."""
    random = Random(size)
    for number in range(size):
        summary = random.choices(WORDS, cum_weights=_WEIGHTS, k=random.randint(6, 24))
        tags = random.choices(WORDS, cum_weights=_WEIGHTS, k=3)
        kind = random.choice(_KINDS)
        yield Record(
            record_id=RecordId(f"mem_{random.getrandbits(128):032x}"),
            layer=kind.layer,
            kind=kind,
            state=random.choice(_STATES),
            scope=WORKSPACE if random.random() < 0.5 else random.choice(PROJECTS),
            summary=" ".join(summary),
            metadata={"origin": "candidate", "topic_tags": tags},
            sensitivity=Sensitivity.SENSITIVE if random.random() < 0.02 else Sensitivity.NORMAL,
            created_by="bench",
            created_at=NOW - timedelta(minutes=size - number),
            expires_at=NOW + timedelta(days=random.randint(-9, 90)) if random.random() < 0.05 else None,
        )


def queries(count: int) -> list[str]:
    """So many queries of 12 distinct words, drawn like those of the records."""
    random = Random("queries")
    found = []
    for _ in range(count):
        words: dict[str, None] = {}
        while len(words) < QUERY_WORDS:
            words[random.choices(WORDS, cum_weights=_WEIGHTS)[0]] = None
        found.append(" ".join(words))
    return found
