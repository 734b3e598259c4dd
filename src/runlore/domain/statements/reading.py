"""What a model is shown of sessions, and which statements and procedures that it names are kept (SKL-20).

A model's answer is a stranger's text. Each item names the message that it rests on. A statement quotes it: a
quote that the user has not written there, or that is somebody else's text, throws it out. A procedure lists
commands that ran in that order and succeeded; a fix names an error that was met too. Each is looked at alone,
and what is thrown out is counted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from runlore.domain import limits
from runlore.domain.detectors.mined import Outcome, Step
from runlore.domain.detectors.recovery_texts import is_about_code
from runlore.domain.guard import first_secret
from runlore.domain.learning.extraction import confidence_of
from runlore.domain.learning.own_words import fold_quote
from runlore.domain.privacy.redaction import redact_beginning, redact_text
from runlore.domain.prompts.injected import strip_injected, without_notes
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.record import JsonObject, JsonValue, Kind
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType, text_of
from runlore.domain.scope import ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.statements.sentences import own_text
from runlore.domain.statements.user_messages import UserMessage, UserMessageCollector
from runlore.domain.suggesting.naming import is_reserved, is_valid_name
from runlore.domain.suspicion import suspicions
from runlore.domain.text.analysis import terms_of
from runlore.domain.text.excerpt import excerpt
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
CONFIDENCE_MIN = 50
"""What a model itself takes for less likely than not is left out."""

SESSIONS_MIN = 3
"""A request that is found in fewer sessions is not said to come back."""

_SAID_CHARS_MAX = 1_500
_BEFORE_CHARS_MAX = 400
_COMMAND_CHARS_MAX = 160
_COMMANDS_MAX, _FAILURES_MAX, _ERROR_CHARS_MAX = 12, 6, 160
# A text that is handed to a command, and what only cuts short what it prints.
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\]){0,20000}\"|'[^']{0,20000}'", re.DOTALL)
_WRITTEN_CHARS_MIN = 40
_CUTTING = re.compile(r"\s*2>&1|\s*\|\s*(?:head|tail)(?: -\S+)*(?= *(?:$|[;|&]))")
_PASSAGES_PER_RUN_MAX = 40
_STEPS_MIN, _STEPS_MAX = 2, 20
_STATEMENT_CHARS_MAX = 300
_BACKED_MIN = 0.5
_LETTERS = re.compile(r"[^\W\d_]{2}")
# What only its exact letters tell: code, a path, an address, a number.
_EXACT = re.compile(r"`[^`]+`|\S*[/_\d@]\S*|\S+\.\w{2,}")
_PARAMETER = re.compile(r"<[a-z][a-z0-9-]{0,30}>")
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s\"']+)"


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
class Passage:
    """A message of the user with what stood around it: `own` is what of it is surely the user's and is shown,
    `before` what the agent had said or tried, `ran` the commands that followed and succeeded, `failed` those
    that did not, each with its error. `sessions` is in how many sessions the same was asked for."""

    message: UserMessage
    own: str
    before: str = ""
    ran: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    project: str = ""
    day: str = ""
    sessions: int = 0

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it takes in a request."""
        failed = (text for pair in self.failed for text in pair)
        return 20 + sum(map(estimate, (self.own, self.before, *self.ran, *failed)))


class PassageCollector:
    """Hears the runs of one session in order, for what their user said with what stood around it. `spoken` is
    what the agent said last."""

    def __init__(self, *, session_id: SessionId, project: str, personal: bool) -> None:
        self._session_id = session_id
        self._project = project
        self._personal = personal
        self.spoken = ""

    def hear_run(
        self,
        run_id: RunId,
        events: Iterable[tuple[int, EventType, JsonObject]],
        steps: Sequence[Step] = (),
        *,
        day: str = "",
    ) -> tuple[Passage, ...]:
        """The passages of the next run."""
        listener = UserMessageCollector(session_id=self._session_id, run_id=run_id)
        before: list[str] = []
        calls: dict[str, str] = {}
        for number, kind, body in events:
            call_id = str(body.get("call_id"))
            if kind is EventType.ASSISTANT_MESSAGE:
                self.spoken = text_of(body).strip() or self.spoken
            elif kind is EventType.TOOL_CALL:
                calls[call_id] = f"{body.get('name')} {body.get('arguments')}"
            listener.hear(number, kind, body)
            if len(listener.said) > len(before):
                before.append(calls.get(call_id, "") if kind is EventType.TOOL_RESULT else self.spoken)
        heard = [pair for pair in zip(listener.said, before, strict=True) if not pair[0].foreign_tool]
        ends = [*(said.event_number for said, _ in heard[1:]), limits.NUMBER_MAX]
        return tuple(
            Passage(
                message=said,
                own=own,
                before=self._shorten(around, is_end=not said.is_refusal),
                ran=_commands([step for step in steps if said.event_number < step.number < end]),
                failed=_failures([step for step in steps if said.event_number < step.number < end]),
                project=self._project,
                day=day,
            )
            for (said, around), end in zip(heard, ends, strict=False)
            if (own := self._own(said))
        )[:_PASSAGES_PER_RUN_MAX]

    def _own(self, said: UserMessage) -> str:
        own = without_notes(own_text(strip_injected(said.text))).strip()
        if not _LETTERS.search(own):
            return ""
        return excerpt(redact_beginning(own, personal=self._personal).text, _SAID_CHARS_MAX)

    def _shorten(self, text: str, *, is_end: bool) -> str:
        """What stood before a message: of what the agent said the end, of a call the beginning."""
        plain = " ".join(strip_injected(text).split())
        cut = plain[-_BEFORE_CHARS_MAX:] if is_end else plain[:_BEFORE_CHARS_MAX]
        return redact_text(cut, personal=self._personal).text


def _commands(steps: Iterable[Step]) -> tuple[str, ...]:
    """The commands that did something and succeeded, each once."""
    done = (step for step in steps if step.outcome is Outcome.SUCCEEDED and not step.is_looking)
    ran = dict.fromkeys(map(_command, done))
    return tuple(text for text in ran if text and len(text) <= _COMMAND_CHARS_MAX)[:_COMMANDS_MAX]


def _failures(steps: Iterable[Step]) -> tuple[tuple[str, str], ...]:
    """The commands that failed, with the line that says why, each error once. What is about the code of the
    moment puts nothing right."""
    failed = (step for step in steps if step.outcome is Outcome.FAILED and step.error and not step.is_looking)
    found = {
        excerpt(step.error, _ERROR_CHARS_MAX): _command(step)[:_COMMAND_CHARS_MAX]
        for step in failed
        if not is_about_code(step.error)
    }
    return tuple((command, error) for error, command in found.items())[:_FAILURES_MAX]


def _command(step: Step) -> str:
    """A command in one line, what is written in it left out: a message, the text of a pull request."""
    short = _QUOTED.sub(lambda found: "<text>" if len(found[0]) > _WRITTEN_CHARS_MIN else found[0], step.text)
    lines = (" ".join(_CUTTING.sub("", line.rstrip("\\")).split()) for line in short.splitlines())
    return " ; ".join(filter(None, lines)) if "<<" not in short else ""


@dataclass(frozen=True, kw_only=True)
class MessageBatch:
    """Messages that are asked about together. A message is known by its place among them, from 1 on."""

    passages: tuple[Passage, ...]

    @property
    def runs(self) -> tuple[RunId, ...]:
        """The runs that it is about, each whole."""
        return tuple(dict.fromkeys(each.message.run_id for each in self.passages))

    @property
    def sessions(self) -> tuple[SessionId, ...]:
        return tuple(dict.fromkeys(each.message.session_id for each in self.passages))

    @property
    def document(self) -> dict[str, JsonValue]:
        """What a model is shown."""
        sessions: list[JsonValue] = []
        for session_id in self.sessions:
            those = [
                (place, each)
                for place, each in enumerate(self.passages, start=1)
                if each.message.session_id == session_id
            ]
            first = those[0][1]
            messages: list[JsonValue] = [_message(place, each) for place, each in those]
            sessions.append({"project": first.project, "day": first.day, "messages": messages})
        return {"sessions": sessions}


def _message(place: int, passage: Passage) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"id": place, "said": passage.own}
    if passage.before:
        told["refused_call" if passage.message.is_refusal else "agent_before"] = passage.before
    if passage.sessions >= SESSIONS_MIN:
        told["asked_in_sessions"] = passage.sessions
    if passage.ran:
        told["commands_after"] = list(passage.ran)
    if passage.failed:
        told["failures_after"] = [{"command": command, "error": error} for command, error in passage.failed]
    return told


def batches_of(runs: Iterable[Sequence[Passage]], *, tokens_max: int) -> Iterator[MessageBatch]:
    """Runs in batches that fit, in order. A run is never divided: one that is too long goes alone."""
    taken: list[Passage] = []
    tokens = 0
    for run in runs:
        more = sum(each.tokens for each in run)
        if taken and tokens + more > tokens_max:
            yield MessageBatch(passages=tuple(taken))
            taken, tokens = [], 0
        taken += run
        tokens += more
    if taken:
        yield MessageBatch(passages=tuple(taken))


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
    said, told = " ".join(quote.split()), " ".join(text.split())
    kept = told if _is_backed(told, passage) else said
    reason = find_quote_problem(passage, quote) or _find_text_problem(kept, confidence)
    if reason is not None or known is None:
        return reason or Thrown.KIND
    scope = SCOPES.get(str(item.get("scope")).strip().casefold(), ScopeKind.PROJECT)
    return ReadStatement(
        passage=passage, quote=said, text=kept, kind=known, scope=scope, confidence=confidence
    )


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
    plain = fold_quote(around)
    if not all(fold_quote(each.strip("`'\"(),;:")) in plain for each in _EXACT.findall(text)):
        return False
    terms, known = set(terms_of(text)) - _ABOUT, set(terms_of(around))
    return bool(terms) and len(terms & known) >= _BACKED_MIN * len(terms)


# What sentences about users and projects begin with.
_ABOUT = frozenset(terms_of("the user prefers wants asks always never project"))


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
    is_right = (1 if error else _STEPS_MIN) <= len(told) <= _STEPS_MAX and _was_run(told, shown)
    if not is_right or (error and not _was_met(error, shown)):
        return Thrown.COMMAND if not is_right else Thrown.ERROR
    about = " ".join(when.split())
    is_named = is_valid_name(name) and not is_reserved(name)
    texts = (about, *told, *([error] if error else []))
    is_safe = all(map(_is_keepable, texts)) and not suspicions(f"{about}\n{error}")
    if not is_named or not is_safe or _EXACT.search(about):
        return Thrown.TEXT
    return ReadProcedure(name=name, when=about, passages=tuple(dict.fromkeys(shown)), steps=told, error=error)


def _was_met(error: str, passages: Iterable[Passage]) -> bool:
    """Whether a command failed with this after one of these messages."""
    met = (fold_quote(told) for passage in passages for _, told in passage.failed)
    return any(fold_quote(error) in told for told in met)


def _was_run(steps: Sequence[str], passages: Sequence[Passage]) -> bool:
    """Whether the steps ran in this order in one of the sessions, other commands between them or not."""
    by_session: dict[SessionId, list[str]] = {}
    for each in sorted(passages, key=lambda passage: passage.message.event_number):
        by_session.setdefault(each.message.session_id, []).extend(each.ran)
    return any(_is_within(steps, ran) for ran in by_session.values())


def _is_within(steps: Sequence[str], ran: Sequence[str]) -> bool:
    left = iter(ran)
    return all(any(_step_pattern(step).fullmatch(text) for text in left) for step in steps)


def _step_pattern(step: str) -> re.Pattern[str]:
    """What a step matches: itself, with any value in the place of a parameter. A program is no parameter."""
    parts: list[str] = []
    place = 0
    for found in _PARAMETER.finditer(step):
        if found.start() == 0:
            continue
        parts += re.escape(step[place : found.start()]), _VALUE
        place = found.end()
    return re.compile("".join([*parts, re.escape(step[place:])]))


def _passage(batch: MessageBatch, place: JsonValue) -> Passage | None:
    if isinstance(place, bool) or not isinstance(place, int) or not 1 <= place <= len(batch.passages):
        return None
    return batch.passages[place - 1]
