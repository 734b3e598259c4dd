"""Finds what users have said that lasts, puts the same wishes together, and ranks them (CAP-8).

Points are the sum of the features that a sentence has; each is a part of the confidence with its reason. What
has too few is not proposed. What has many is shown first, and so is what says in so many words that it lasts:
a preference, something not to be done, a wish that comes back. The rest waits folded under it.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runlore.domain.record import Kind
from runlore.domain.scope import ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.statements.features import SentenceFeatures
from runlore.domain.statements.recurrence import Key, Recurrence
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
    if judged.seen.is_of_one_thing:
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
