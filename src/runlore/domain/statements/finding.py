"""Finds what users have said that lasts, puts the same wishes together, and ranks them (CAP-8).

Points are the sum of the features that a sentence has; each is a part of the confidence with its reason. What
has too few is not proposed. What has many is shown first, and so is what says in so many words that it lasts:
a preference, something not to be done, a wish that comes back. The rest waits folded under it.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

from runlore.domain.languages.language import Language
from runlore.domain.record import Kind
from runlore.domain.scope import ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.statements.features import SentenceFeatures
from runlore.domain.statements.sentences import MessageSentence, sentences_of
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.statements.weights import (
    FIRST_POINTS_MIN,
    FIRST_REFUSAL_POINTS_MIN,
    POINTS,
    PROPOSED_POINTS_MIN,
    WEIGHTS,
)
from runlore.domain.suggestion import Score, ScorePart
from runlore.domain.text.analysis import is_stop_word, stem

Key = tuple[str, ...]

_TERMS_MAX = 30
_DISTANCE_MAX = 2
_SESSIONS_MIN = 2
# Of the times that the two stand together, how many are requests; how often the rarer one has the other.
_REQUESTS_MIN = 0.6
_TOGETHER_MIN = 0.4
# From so many requests with a number on, most of them another one, they are tasks.
_TASKS_MIN = 3
_TASKS_PART = 0.5
_GRAM_CHARS = 4
# A word of its own: no part of a path, an address, a file's or a branch's name, and nothing with a digit.
_WORD = re.compile(r"(?<![\w./@:#-])[a-z\u00df-\u024f]+(?:['-][a-z\u00df-\u024f]+)*(?![\w/@-]|[.:]\w)")
_NUMBER = re.compile(r"\d+")
_UNSPACED_RUN = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]+")


STATEMENTS_MAX = 500
EVIDENCE_MAX = 20
# The latest so many messages are read.
_SAID_MAX = 20_000
_POINTS_MAX = 100
# A wish that was said in so many sessions is one statement, however it was put.
_UNITED_SESSIONS_MIN = 3
# Pasted reviews and plans say the same words over and over: they make nothing a wish.
_COUNTED_CHARS_MAX = 800
_RECURRENCES = (8, 5, 3, 2)
_RECURS = frozenset(f"recurs-{count}" for count in _RECURRENCES if count >= _UNITED_SESSIONS_MIN)
_DOUBTFUL = frozenset({"hedge", "story", "question", "told"})


class Recurrence:
    """Counts over sentences, then answers which wish a sentence repeats and in how many sessions.

    Two words are a wish of their own where they stand together in the requests of several sessions, mostly
    in requests, and where one of them is seldom said without the other. Names that everything is about ("the
    session branch") fail the second test, everyday requests ("commit and push") are left out by the
    language's table, and requests that name another number each time ("look at issue 12") are tasks in a row,
    no wish. In scripts without spaces four characters in a row take the place of the two words.
    """

    def __init__(self) -> None:
        self._sessions: dict[Key, set[SessionId]] = defaultdict(set)
        self._times: Counter[Key] = Counter()
        self._requests: Counter[Key] = Counter()
        self._numbers: dict[Key, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._terms: Counter[str] = Counter()
        self._stems: dict[str, str] = {}

    def terms_of(self, plain: str, language: Language) -> tuple[str, ...]:
        """The stems by which a wish is known again, in order, each once. Weak ones begin with a dash."""
        found: dict[str, None] = {}
        if not language.is_spaced:
            for run in _UNSPACED_RUN.findall(plain):
                grams = (run[at : at + _GRAM_CHARS] for at in range(len(run) - _GRAM_CHARS + 1))
                found.update(dict.fromkeys(grams))
            return tuple(found)[:_TERMS_MAX]
        weak, empty = _stems(language.weak), language.empty_words
        for word in _WORD.findall(plain):
            if word not in empty and not is_stop_word(word) and len(word) > 1:
                stemmed = self._stem(word)
                found[f"-{stemmed}" if stemmed in weak else stemmed] = None
        return tuple(found)[:_TERMS_MAX]

    def add(self, session_id: SessionId, plain: str, terms: Sequence[str], *, is_request: bool) -> None:
        """Count one sentence, by its terms and its numbers."""
        self._terms.update(set(terms))
        numbers = tuple(_NUMBER.findall(plain))
        for key in _keys(terms):
            self._times[key] += 1
            if is_request:
                self._requests[key] += 1
                self._sessions[key].add(session_id)
                self._numbers[key][numbers] += 1

    def of(self, terms: Sequence[str]) -> tuple[int, Key]:
        """The wish that a request repeats and that most sessions have: in how many, and its key."""
        found = [(len(self._sessions[key]), key) for key in _keys(terms) if self._is_wish(key)]
        return max(found, default=(0, ()))

    def _stem(self, word: str) -> str:
        if word not in self._stems:
            self._stems[word] = stem(word)
        return self._stems[word]

    def _is_wish(self, key: Key) -> bool:
        if len(self._sessions.get(key, ())) < _SESSIONS_MIN:
            return False
        if self._requests[key] < _REQUESTS_MIN * self._times[key]:
            return False
        if self._is_row_of_tasks(key):
            return False
        rarer = min((self._terms[term] for term in key), default=0)
        return self._times[key] >= _TOGETHER_MIN * rarer

    def _is_row_of_tasks(self, key: Key) -> bool:
        numbered = {numbers: count for numbers, count in self._numbers[key].items() if numbers}
        many = sum(numbered.values())
        most = _TASKS_PART * self._requests[key]
        return many >= _TASKS_MIN and many > most and len(numbered) > _TASKS_PART * many


def _keys(terms: Sequence[str]) -> set[Key]:
    """What a sentence may share with others. Two weak terms, which begin with a dash, are none."""
    if terms and all(len(term) == _GRAM_CHARS and _UNSPACED_RUN.fullmatch(term) for term in terms):
        return {(term,) for term in terms}
    return {
        (min(pair), max(pair))
        for (first, one), (second, other) in combinations(enumerate(terms), 2)
        if second - first <= _DISTANCE_MAX
        for pair in [(one, other)]
        if not (one.startswith("-") and other.startswith("-"))
    }


@cache
def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


@dataclass(frozen=True, kw_only=True)
class OwnStatement:
    """One sentence that a user said and that may hold beyond its task. `said` is where it was said, the
    sentence itself first; `sessions` in how many sessions; `wordings` are all sentences that say it.
    `foreign_tools` are the tools from outside that may have put it there, where no message of the user's says
    it too. `is_first` is shown at once; what is not waits folded under the others."""

    text: str
    kind: Kind
    scope: ScopeKind
    confidence: Score
    said: tuple[UserMessage, ...]
    sessions: int
    language: str
    wordings: tuple[str, ...] = ()
    foreign_tools: tuple[str, ...] = ()
    is_first: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A sentence with what was seen of it. `wish` is what it repeats, said in `sessions` sessions."""

    said: UserMessage
    sentence: MessageSentence
    seen: SentenceFeatures
    terms: tuple[str, ...]
    sessions: int = 0
    wish: Key = ()

    @property
    def features(self) -> frozenset[str]:
        """All that its points are made of."""
        recurs = next((f"recurs-{count}" for count in _RECURRENCES if self.sessions >= count), "")
        refusal = "refusal" if self.said.is_refusal else ""
        return self.seen.features | {name for name in (recurs, refusal) if name}

    def points_by(self, weights: Mapping[str, int]) -> int:
        """How much speaks for it."""
        return sum(weights[name] for name in self.features)


def statements_of(said: Iterable[UserMessage]) -> tuple[OwnStatement, ...]:
    """What these messages state that lasts, the best first. They are one person's: the same wish is looked
    for in all of them. Always the same for the same messages in the same order."""
    return statements_from(judge_sentences(said))


def statements_from(
    judged_ones: Iterable[Judged], weights: Mapping[str, int] = POINTS
) -> tuple[OwnStatement, ...]:
    """The same of sentences that were judged before, by weights that may be others than those in use."""
    best: dict[object, list[Judged]] = {}
    for judged in judged_ones:
        if judged.seen.passed_over or judged.points_by(weights) < PROPOSED_POINTS_MIN:
            continue
        is_united = judged.sessions >= _UNITED_SESSIONS_MIN
        best.setdefault(judged.wish if is_united else judged.terms or judged.sentence.plain, []).append(
            judged
        )
    found = [_statement(judged, weights) for judged in best.values()]
    found.sort(key=lambda each: (not each.is_first, -each.confidence.points, -each.sessions))
    return tuple(found[:STATEMENTS_MAX])


def judge_sentences(said: Iterable[UserMessage]) -> list[Judged]:
    """Every sentence of these messages, once for each session, with what was seen of it."""
    recurrence = Recurrence()
    read: dict[tuple[SessionId, str], Judged] = {}
    for each in deque(said, maxlen=_SAID_MAX):
        for sentence in sentences_of(each):
            seen = SentenceFeatures(sentence)
            terms = recurrence.terms_of(sentence.plain, seen.language)
            judged = Judged(said=each, sentence=sentence, seen=seen, terms=terms)
            read.setdefault((each.session_id, sentence.plain), judged)
    for judged in read.values():
        if judged.sentence.message_chars <= _COUNTED_CHARS_MAX:
            recurrence.add(
                judged.said.session_id, judged.sentence.plain, judged.terms, is_request=_is_wish(judged)
            )
    return [_with_recurrence(judged, recurrence) for judged in read.values()]


def _with_recurrence(judged: Judged, recurrence: Recurrence) -> Judged:
    sessions, wish = recurrence.of(judged.terms) if _is_wish(judged) else (0, ())
    return replace(judged, sessions=sessions, wish=wish)


def _is_wish(judged: Judged) -> bool:
    return judged.seen.is_request or judged.said.is_refusal


def _statement(judged: Sequence[Judged], weights: Mapping[str, int]) -> OwnStatement:
    """One statement of all the sentences that say the same: in the words of the one with the most points."""
    first = max(judged, key=lambda one: one.points_by(weights))
    said = tuple(dict.fromkeys([first.said, *(one.said for one in judged)]))
    own = any(not one.foreign_tool for one in said)
    kind = _kind(first)
    return OwnStatement(
        text=first.sentence.text,
        kind=kind,
        scope=scope_kind(kind, first.seen),
        confidence=_confidence(first, weights),
        said=said[:EVIDENCE_MAX],
        sessions=max(first.sessions, len({one.session_id for one in said})),
        language=first.seen.language.name,
        wordings=tuple(dict.fromkeys([first.sentence.text, *(one.sentence.text for one in judged)])),
        foreign_tools=() if own else tuple(dict.fromkeys(one.foreign_tool for one in said)),
        is_first=_is_first(first, first.points_by(weights)),
    )


def _is_first(judged: Judged, points: int) -> bool:
    """Whether it is a wish that recurs, or promises enough and is about more than one thing at hand."""
    features = judged.features
    if not features.isdisjoint(_RECURS):
        return True
    if judged.seen.is_of_one_thing and ("rule" not in features or "told" in features):
        return False
    is_refusal = judged.said.is_refusal and judged.seen.is_request and points >= FIRST_REFUSAL_POINTS_MIN
    is_plain = "preference" in features or judged.seen.forbids or is_refusal
    return points >= FIRST_POINTS_MIN or (is_plain and features.isdisjoint(_DOUBTFUL))


def _confidence(judged: Judged, weights: Mapping[str, int]) -> Score:
    features = judged.features
    names = [name for name in WEIGHTS if name in features and weights[name]]
    parts = tuple(ScorePart(reason=WEIGHTS[name][1], points=weights[name]) for name in names)
    return Score(points=max(0, min(_POINTS_MAX, sum(part.points for part in parts))), parts=parts)


def _kind(judged: Judged) -> Kind:
    """A wish is a preference, how things are done here a decision, how things are a fact (CAP-8)."""
    features = judged.features
    if "fact" in features and not features & {"rule", "preference", "wish", "command"}:
        return Kind.FACT
    if judged.seen.is_request and not features & {"practice", "obligation"}:
        return Kind.PREFERENCE
    if features & {"practice", "obligation"} and not features & {"preference", "command"}:
        return Kind.DECISION
    return Kind.PREFERENCE


def scope_kind(kind: Kind, seen: SentenceFeatures) -> ScopeKind:
    """A wish is the user's, wherever they work, unless its words name the project or code of it."""
    is_users = kind is Kind.PREFERENCE and not seen.is_of_place
    return ScopeKind.PERSONA if is_users else ScopeKind.PROJECT
