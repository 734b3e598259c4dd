"""Which statements and procedures that a model finds in sessions are kept (SKL-20).

A model's answer is a stranger's text. Each item names the message that it rests on. A statement quotes it: a
quote that the user has not written there, or that is somebody else's text, throws it out. A procedure lists
calls that were made in that order and succeeded, and steps in the user's words; a fix names an error that was
met too. Each is looked at
alone, and what is thrown out is counted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.guard import first_secret
from runlore.domain.learning.extraction import confidence_of
from runlore.domain.learning.own_words import fold_quote
from runlore.domain.record import JsonObject, JsonValue, Kind
from runlore.domain.scope import ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.statements.passages import MessageBatch, Passage
from runlore.domain.suggesting.naming import is_reserved, is_valid_name
from runlore.domain.suspicion import suspicions
from runlore.domain.text.analysis import tokenize
from runlore.domain.text.inline_spans import mask_spans, quotations
from runlore.domain.text.safe_text import hidden_characters

KINDS: Mapping[str, Kind] = {
    "preference": Kind.PREFERENCE,
    "correction": Kind.PREFERENCE,
    "convention": Kind.DECISION,
    "decision": Kind.DECISION,
    "fact": Kind.FACT,
}
SCOPES: Mapping[str, ScopeKind] = {"user": ScopeKind.PERSONA, "project": ScopeKind.PROJECT}
CONFIDENCE_MIN = 60
"""What a model itself takes for less than likely is left out: of such items hardly any lasts."""
FIRST_MIN = 72
"""What a model is surer of is shown first; the rest waits folded under it."""

_STEPS_MAX, _MESSAGES_OF_ONE_CALL_MIN = 20, 2
_STATEMENT_CHARS_MAX = 300
_BACKED_MIN = 0.5
_LETTERS = re.compile(r"[^\W\d_]{2}")
# What only its exact letters tell: code, a path, an address, a number.
_EXACT = re.compile(r"`[^`]+`|\S*[/_\d@]\S*|\S+\.\w{2,}")
_PARAMETER = re.compile(r"<[A-Za-z][\w-]{0,40}>")
_PARAMETERS_PER_WORD_MAX = 2
# A tool of a server, as agents name it.
_TOOL = re.compile(r"[a-z]\w*__\S+")
# A command up to the next one of its line, and a word of it; what is quoted is never divided.
_SIMPLE = re.compile(r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^;&'\"\\]|(?<!&)&(?!&))+")
_SHELL_WORD = re.compile(r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s'\"\\])+")


def _items(properties: Mapping[str, JsonObject], required: Sequence[str]) -> JsonObject:
    return {
        "type": "array",
        "items": {"type": "object", "properties": dict(properties), "required": list(required)},
    }


_TEXT: JsonObject = {"type": "string"}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "statements": _items(
            {
                "message": {"type": "integer", "description": "the id of the message that says it"},
                "quote": {"type": "string", "description": "the user's words in that message, unchanged"},
                "statement": {"type": "string", "description": "one sentence that stands for itself"},
                "kind": {"type": "string", "description": ", ".join(KINDS)},
                "scope": {"type": "string", "description": "user or project"},
                "confidence": {"type": "number", "description": "0 to 100"},
            },
            ("message", "quote", "statement", "kind", "scope", "confidence"),
        ),
        "procedures": _items(
            {
                "name": {"type": "string", "description": "a-z, 0-9 and single hyphens"},
                "when": {"type": "string", "description": "one sentence: when it is to be used"},
                "messages": {"type": "array", "items": {"type": "integer"}},
                "steps": {"type": "array", "items": _TEXT, "description": "commands that ran, in order"},
                "error": {"type": "string", "description": "of a fix: the error that it is for, else empty"},
            },
            ("name", "when", "messages", "steps"),
        ),
    },
    "required": ["statements", "procedures"],
}
"""What the answer looks like. It is not narrower: an answer with one wrong kind has other statements too."""


class Thrown(StrEnum):
    """Why an item of an answer was thrown out."""

    UNREADABLE = "unreadable"
    MESSAGE = "no such message"
    QUOTE = "a quote that is not there"
    OUTSIDE = "words from outside"
    COMMAND = "a command that nobody ran"
    ERROR = "an error that nobody met"
    KIND = "an unknown kind"
    UNSURE = "too unsure"
    TEXT = "a text that cannot be kept"
    REPEATED = "said before in the answer"


@dataclass(frozen=True, kw_only=True)
class ReadStatement:
    """Something lasting that a model found in a message. `text` is the quote itself where the model's
    sentence says more than the message."""

    passage: Passage
    quote: str
    text: str
    kind: Kind
    scope: ScopeKind
    confidence: int

    @property
    def is_first(self) -> bool:
        return self.confidence >= FIRST_MIN


@dataclass(frozen=True, kw_only=True)
class ReadProcedure:
    """A way of working that a model found in what was asked and run; of a fix `error` is what it is for."""

    name: str
    when: str
    passages: tuple[Passage, ...]
    steps: tuple[str, ...]
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadFindings:
    """What is kept of an answer, the surest first, and what was thrown out for which reason."""

    statements: tuple[ReadStatement, ...] = ()
    procedures: tuple[ReadProcedure, ...] = ()
    thrown: Mapping[Thrown, int] = field(default_factory=dict)


def check_answer(batch: MessageBatch, output: JsonObject) -> ReadFindings:
    """What of a model's answer about a batch can be kept."""
    statements: list[ReadStatement] = []
    procedures: list[ReadProcedure] = []
    thrown: Counter[Thrown] = Counter()
    for item in _list_items(output, "statements", thrown):
        stated = _statement(batch, item)
        if isinstance(stated, ReadStatement) and any(_is_same(stated, other) for other in statements):
            stated = Thrown.REPEATED
        if isinstance(stated, Thrown):
            thrown[stated] += 1
        else:
            statements.append(stated)
    for item in _list_items(output, "procedures", thrown):
        found = _procedure(batch, item)
        if isinstance(found, Thrown):
            thrown[found] += 1
        elif any(found.name == other.name for other in procedures):
            thrown[Thrown.REPEATED] += 1
        else:
            procedures.append(found)
    ordered = sorted(statements, key=lambda each: -each.confidence)
    return ReadFindings(statements=tuple(ordered), procedures=tuple(procedures), thrown=dict(thrown))


def _list_items(output: JsonObject, name: str, thrown: Counter[Thrown]) -> Iterator[Mapping[str, JsonValue]]:
    items = output.get(name)
    listed = items if isinstance(items, Sequence) and not isinstance(items, str) else ()
    thrown[Thrown.UNREADABLE] += max(0, len(listed) - limits.EXTRACTION_ITEMS_MAX)
    for item in listed[: limits.EXTRACTION_ITEMS_MAX]:
        if isinstance(item, Mapping):
            yield item
        else:
            thrown[Thrown.UNREADABLE] += 1


def _statement(batch: MessageBatch, item: Mapping[str, JsonValue]) -> ReadStatement | Thrown:
    passage = _passage(batch, item.get("message"))
    quote, text, kind = item.get("quote"), item.get("statement"), item.get("kind")
    if not isinstance(quote, str) or not isinstance(text, str) or not isinstance(kind, str):
        return Thrown.UNREADABLE
    if passage is None:
        return Thrown.MESSAGE
    known, confidence = KINDS.get(kind.strip().casefold()), confidence_of(item.get("confidence"))
    said, told = _as_written(quote, passage.own), " ".join(text.split())
    kept = told if _is_backed(told, passage) else said
    reason = find_quote_problem(passage, quote) or _find_text_problem(kept, confidence)
    if reason is not None or known is None:
        return reason or Thrown.KIND
    scope = SCOPES.get(str(item.get("scope")).strip().casefold(), ScopeKind.PROJECT)
    return ReadStatement(
        passage=passage, quote=said, text=kept, kind=known, scope=scope, confidence=confidence
    )


def _as_written(quote: str, own: str) -> str:
    """A quote as it stands in the message, whatever the model made of its signs."""
    words = map(re.escape, fold_quote(quote).split())
    found = re.search(r"\W+".join(words), own, re.IGNORECASE)
    return " ".join((found[0] if found else quote).split())


def _find_text_problem(text: str, confidence: int) -> Thrown | None:
    if confidence < CONFIDENCE_MIN:
        return Thrown.UNSURE
    return None if _is_keepable(text) else Thrown.TEXT


def find_quote_problem(passage: Passage, quote: str) -> Thrown | None:
    """Why a quote does not count as the user's word in a message; None where it does."""
    wanted = fold_quote(quote)
    if not _LETTERS.search(wanted):
        return Thrown.QUOTE
    own = fold_quote(passage.own)
    if wanted in own:
        # What stands only between quotation marks is what somebody else has said.
        unquoted = fold_quote(mask_spans(passage.own, quotations(passage.own)[0]))
        quoted = [passage.own[start:end] for start, end in quotations(passage.own)[0]]
        is_others = wanted not in unquoted and any(wanted in fold_quote(each) for each in quoted)
        return Thrown.OUTSIDE if is_others else None
    around = fold_quote(passage.message.text), fold_quote(passage.before)
    return Thrown.OUTSIDE if any(wanted in each for each in around) else Thrown.QUOTE


def _is_backed(text: str, passage: Passage) -> bool:
    """Whether a model's sentence says no more than what it was made of: most of its words stand there, and
    all of what only its exact letters tell."""
    if not text or len(text) > _STATEMENT_CHARS_MAX or suspicions(text) or hidden_characters(text):
        return False
    around = f"{passage.own} {passage.before} {passage.project}"
    if not _is_exact(text, around):
        return False
    terms, known = set(tokenize(text)) - _ABOUT, set(tokenize(around))
    return bool(terms) and len(terms & known) >= _BACKED_MIN * len(terms)


def _is_exact(text: str, around: str) -> bool:
    """Whether what only its exact letters tell in a text stands in what it was made of."""
    plain = " ".join(around.split()).casefold()
    return all(each.strip("`'\"(),;:.").casefold() in plain for each in _EXACT.findall(text))


# What sentences about users and projects begin with.
_ABOUT = frozenset(tokenize("the user prefers wants asks always never project"))


def _is_keepable(text: str) -> bool:
    is_whole = 0 < len(text) <= limits.SUMMARY_CHARS_MAX
    return is_whole and not first_secret(text) and not hidden_characters(text)


def _is_same(one: ReadStatement, other: ReadStatement) -> bool:
    if one.passage.message != other.passage.message:
        return fold_quote(one.text) == fold_quote(other.text)
    first, second = fold_quote(one.quote), fold_quote(other.quote)
    return first in second or second in first


def _procedure(batch: MessageBatch, item: Mapping[str, JsonValue]) -> ReadProcedure | Thrown:
    name, when = item.get("name"), item.get("when")
    places, steps = item.get("messages"), item.get("steps")
    if not isinstance(name, str) or not isinstance(when, str) or isinstance(steps, str):
        return Thrown.UNREADABLE
    if not isinstance(places, Sequence) or not isinstance(steps, Sequence):
        return Thrown.UNREADABLE
    passages = [_passage(batch, place) for place in places]
    shown = [each for each in passages if each is not None]
    if not shown or len(shown) < len(passages):
        return Thrown.MESSAGE
    told = tuple(" ".join(str(step).split()) for step in steps)
    error = " ".join(str(item.get("error") or "").split())
    calls = [step for step in told if all(find_quote_problem(each, step) for each in shown)]
    # One call is a way of working where it is a fix, or was made behind several messages.
    least = 1 if error or len(set(shown)) >= _MESSAGES_OF_ONE_CALL_MIN else 2
    is_right = least <= len(_list_commands(told)) and len(told) <= _STEPS_MAX and _was_run(calls, shown)
    if not is_right or (error and not _was_met(error, shown)):
        return Thrown.COMMAND if not is_right else Thrown.ERROR
    about = " ".join(when.split())
    is_named = is_valid_name(name) and not is_reserved(name)
    texts = (about, *told, *([error] if error else []))
    is_safe = all(map(_is_keepable, texts)) and not suspicions(f"{about}\n{error}")
    around = " ".join(text for each in shown for text in (each.own, each.before, each.project, *each.ran))
    if not is_named or not is_safe or not _is_exact(about, around):
        return Thrown.TEXT
    return ReadProcedure(name=name, when=about, passages=tuple(dict.fromkeys(shown)), steps=told, error=error)


def _was_met(error: str, passages: Iterable[Passage]) -> bool:
    """Whether a call failed with this after one of these messages: word for word, but for parameters."""
    met = {told for passage in passages for _, told in passage.calls if told}
    wanted = error.split()
    return any(
        fold_quote(error) in fold_quote(told)
        or any(
            all(map(_is_like, wanted, words[place:]))
            for words in [told.split()]
            for place in range(len(words) - len(wanted) + 1)
        )
        for told in met
    )


def _was_run(steps: Sequence[str], passages: Sequence[Passage]) -> bool:
    """Whether the steps ran in this order in one of the sessions, other commands between them or not."""
    wanted = _list_commands(steps)
    by_session: dict[SessionId, list[list[str]]] = {}
    for each in sorted(passages, key=lambda passage: passage.message.event_number):
        by_session.setdefault(each.message.session_id, []).extend(_list_commands(each.ran))
    return any(_is_within(wanted, ran) for ran in by_session.values())


def _list_commands(lines: Iterable[str]) -> list[list[str]]:
    return [command for line in lines for command in _simple_commands(line)]


def _simple_commands(line: str) -> list[list[str]]:
    """The words of each command of a line; all of it is one where a quotation does not end."""
    parts = _SIMPLE.findall(line)
    is_whole = sum(map(len, parts)) + len(re.findall(r"[;&]", line)) >= len(line)
    words = (_SHELL_WORD.findall(part) for part in parts) if is_whole else [line.split()]
    return [each for each in words if each]


def _is_within(wanted: Iterable[Sequence[str]], ran: Iterable[Sequence[str]]) -> bool:
    left = iter(ran)
    return all(any(_is_command_like(command, each) for each in left) for command in wanted)


def _is_command_like(command: Sequence[str], ran: Sequence[str]) -> bool:
    """Whether a command is one that ran, or what stood before its pipe, with values in the place of its
    parameters. A program is none. Of a tool's call arguments may be left out."""
    if command[0] != ran[0]:
        return False
    if _TOOL.fullmatch(command[0]):
        left = iter(ran)
        return all(any(_is_like(word, each) for each in left) for word in command)
    return _is_line_like(command, ran) or ("|" in ran and _is_line_like(command, ran[: ran.index("|")]))


def _is_line_like(words: Sequence[str], written: Sequence[str]) -> bool:
    """Whether one is the other word for word. One parameter behind what is done may stand for several words
    that are no flags."""
    more = len(written) - len(words)
    places = (place for place, word in enumerate(words) if _PARAMETER.fullmatch(word))
    many = next(places, 0)
    if more > 0 and many > 1:
        meant = written[many : many + more + 1]
        if not any(word.startswith("-") for word in meant):
            written = [*written[:many], " ".join(meant), *written[many + more + 1 :]]
    return len(words) == len(written) and all(map(_is_like, words, written))


def _is_like(word: str, written: str) -> bool:
    literals = _PARAMETER.split(word)
    if not 1 < len(literals) <= 1 + _PARAMETERS_PER_WORD_MAX:
        return word == written
    return re.fullmatch(".+".join(map(re.escape, literals)), written) is not None


def _passage(batch: MessageBatch, place: JsonValue) -> Passage | None:
    if isinstance(place, bool) or not isinstance(place, int) or not 1 <= place <= len(batch.passages):
        return None
    return batch.passages[place - 1]
