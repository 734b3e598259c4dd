"""What a person told their agents more than once, from their messages alone (VAL-1).

A wish is known again by its words, the rare ones above all. What was copied is no repetition: a session that
was forked or resumed tells its messages again, and a prompt that is pasted whole was written once. A
change of mind is none either: asking for something and forbidding it are two wishes, and so are tabs and
spaces.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.statements.finding import Judged, judge_sentences
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.statements.weights import POINTS
from runlore.domain.worth.repeat_rates import RateChange, RepeatRate

if TYPE_CHECKING:
    from runlore.domain.claims import subject
else:
    subject = LazyModule("runlore.domain.claims.subject")

# A message of so many characters that is the same in several sessions is a prompt that somebody keeps.
_PASTED_CHARS_MIN = 200
_SESSIONS_MIN = 2
# Fewer terms than this, or less that speaks for a lasting statement, and nothing is said that one could
# repeat.
_TERMS_MIN = 2
_POINTS_MIN = 8
_ALIKE_MIN = 0.45
_WEAK = 0.5
# A number that is a value: the "80" of "80 columns", "3.12", "50%", "10ms". What only numbers something is
# none: the place in a list, a pull request, a ticket, a date, a part of a path.
_VALUE = re.compile(r"[\"'`(]*(v?\d+(?:[.,]\d+)*(?:%|[a-z]{1,3})?)[\"'`).,;:!?]*", re.IGNORECASE)
_PLACE = re.compile(r"^\W*\d+[.):]\s")
_NUMBERED = frozenset(
    {"pr", "prs", "mr", "issue", "issues", "ticket", "step", "line", "lines", "page", "phase", "no"}
)
# Of fewer sentences it is not known which words are rare.
_SENTENCES_MIN = 50


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """One wish, in the words in which it was said last, with the sessions that it was said in, in order."""

    text: str
    wordings: tuple[str, ...]
    session_ids: tuple[SessionId, ...]
    run_ids: tuple[RunId, ...]
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """What was said again, most often first; the runs, with when they were opened, and which of them said
    again what an earlier session had been told."""

    items: tuple[Repeat, ...]
    opened_at: Mapping[RunId, datetime]
    repeating: frozenset[RunId]

    @property
    def rates(self) -> tuple[RepeatRate, ...]:
        """How often that happened, by month."""
        months = sorted((f"{at:%Y-%m}", run_id) for run_id, at in self.opened_at.items())
        return tuple(
            RepeatRate(month=month, requests=len(runs), repeated=sum(run in self.repeating for run in runs))
            for month, named in groupby(months, key=lambda each: each[0])
            if (runs := [run_id for _, run_id in named])
        )

    def rate_change(self, began_at: datetime) -> RateChange:
        """How often that happened before a moment, and from then on."""
        after = {run_id for run_id, at in self.opened_at.items() if at >= began_at}
        repeated_after = len(after & self.repeating)
        return RateChange(
            began_at=began_at,
            requests_before=len(self.opened_at) - len(after),
            repeated_before=len(self.repeating & self.opened_at.keys()) - repeated_after,
            requests_after=len(after),
            repeated_after=repeated_after,
        )


def find_repeats(messages: Iterable[UserMessage], opened_at: Mapping[RunId, datetime]) -> Repeats:
    """The repeats among the messages of one person, oldest first, by when their runs were opened."""
    said = _without_copies(messages, opened_at)
    sentences = [each for each in judge_sentences(said) if not each.seen.passed_over]
    kept = [group for group in _group_alike(sentences) if len(_sessions(group)) >= _SESSIONS_MIN]
    items = [_repeat(group, opened_at) for group in kept]
    items.sort(key=lambda each: (-len(each.session_ids), -each.last_at.timestamp(), each.text))
    spoken = {each.run_id: opened_at[each.run_id] for each in said}
    return Repeats(items=tuple(items), opened_at=spoken, repeating=_find_repeating(kept, opened_at))


def _group_alike(sentences: Sequence[Judged]) -> list[list[Judged]]:
    """The sentences that state something, those of different sessions together that say much the same: the
    cosine of their stems, each weighted by how rare it is in what this person says."""
    counts = Counter(term for each in sentences for term in set(each.terms))
    groups: list[list[Judged]] = []
    group_of: dict[int, int] = {}
    placed: list[tuple[Judged, dict[str, float]]] = []
    postings: dict[str, list[int]] = defaultdict(list)
    for each in sentences:
        says_something = bool(each.wish) or each.points_by(POINTS) >= _POINTS_MIN
        if len(each.terms) < _TERMS_MIN or not says_something:
            continue
        weights = _weigh(each.terms, counts, len(sentences))
        shared: dict[int, float] = defaultdict(float)
        for term, weight in weights.items():
            for other in postings[term]:
                shared[other] += weight * placed[other][1][term]
        alike = {
            group_of[other]
            for other, cosine in shared.items()
            if cosine >= _ALIKE_MIN and not _changes_mind(placed[other][0], each)
        }
        number = len(placed)
        placed.append((each, weights))
        for term in weights:
            postings[term].append(number)
        home = min(alike, default=len(groups))
        if home == len(groups):
            groups.append([])
        groups[home].append(each)
        group_of[number] = home
        for merged in sorted(alike - {home}):
            groups[home] += groups[merged]
            groups[merged] = []
            group_of = {key: home if value == merged else value for key, value in group_of.items()}
    return [group for group in groups if group]


def _changes_mind(earlier: Judged, later: Judged) -> bool:
    """Whether two that are alike want different things: one forbids, or names another value or number."""
    said = [each.sentence.text for each in (earlier, later)]
    numbers = [_values_in(text) for text in said]
    return (
        earlier.seen.forbids != later.seen.forbids
        or (set(earlier.terms) == set(later.terms) and all(numbers) and numbers[0] != numbers[1])
        or subject.conflicts(*map(subject.semantic_key, said))
    )


def _values_in(text: str) -> set[str]:
    pairs = pairwise(["", *_PLACE.sub("", text, count=1).split()])
    found = (_VALUE.fullmatch(word) for before, word in pairs if before.casefold() not in _NUMBERED)
    return {each[1].casefold() for each in found if each}


def _weigh(terms: Iterable[str], counts: Counter[str], sentences: int) -> dict[str, float]:
    """Rare terms count more, and weak ones, which begin with a dash, half."""
    most = max(sentences, _SENTENCES_MIN)
    weights = {
        term: math.log(1 + most / counts[term]) * (_WEAK if term.startswith("-") else 1)
        for term in set(terms)
    }
    length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}


def _without_copies(
    messages: Iterable[UserMessage], opened_at: Mapping[RunId, datetime]
) -> tuple[UserMessage, ...]:
    seen: set[object] = set()
    kept = []
    for message in messages:
        text = " ".join(message.text.split())
        at = opened_at.get(message.run_id)
        if at is None:
            continue
        copies = [(at, text), *([text] if len(text) >= _PASTED_CHARS_MIN else [])]
        if not any(copy in seen for copy in copies):
            kept.append(message)
        seen.update(copies)
    return tuple(kept)


def _sessions(group: Sequence[Judged]) -> tuple[SessionId, ...]:
    return tuple(dict.fromkeys(each.said.session_id for each in group))


def _repeat(group: Sequence[Judged], opened_at: Mapping[RunId, datetime]) -> Repeat:
    ordered = sorted(group, key=lambda each: opened_at[each.said.run_id])
    times = [opened_at[each.said.run_id] for each in ordered]
    return Repeat(
        text=ordered[-1].sentence.text,
        wordings=tuple(dict.fromkeys(each.sentence.text for each in ordered)),
        session_ids=_sessions(ordered),
        run_ids=tuple(dict.fromkeys(each.said.run_id for each in ordered)),
        first_at=times[0],
        last_at=times[-1],
    )


def _find_repeating(
    kept: Sequence[Sequence[Judged]], opened_at: Mapping[RunId, datetime]
) -> frozenset[RunId]:
    again: set[RunId] = set()
    for group in kept:
        ordered = sorted(group, key=lambda each: opened_at[each.said.run_id])
        first = ordered[0].said.session_id
        again |= {each.said.run_id for each in ordered if each.said.session_id != first}
    return frozenset(again)
