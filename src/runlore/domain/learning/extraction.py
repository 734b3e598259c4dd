"""Extraction: what a model is asked about a run, and which of the statements that come back are kept.

A model's answer is a stranger's text. Each statement is looked at alone: one that is unusable is dropped and
counted, and the others stay. Labels go through the same sieve.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.claims.subject import semantic_key
from runlore.domain.errors import Invalid
from runlore.domain.guard import first_secret
from runlore.domain.learning.labels import LABEL_CONFIDENCE, Labelled
from runlore.domain.learning.own_words import cut_pasted, fold_quote
from runlore.domain.privacy.redaction import redact_beginning, redact_text
from runlore.domain.prompts.injected import strip_injected, without_notes
from runlore.domain.prompts.run_memory import RunMemory, RunText
from runlore.domain.record import JsonObject, JsonValue, Kind
from runlore.domain.records.contracts import check_summary
from runlore.domain.scope import ScopeKind
from runlore.domain.text.excerpt import excerpt

KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)
"""What a run can teach by itself. Procedures are drawn from transcripts, Runlore makes run summaries."""

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "candidates": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "description": "fact, preference or decision"},
                    "content": {"type": "string", "description": "one statement that stands for itself"},
                    "quote": {"type": "string", "description": "the words that say it, unchanged"},
                    "confidence": {"type": "number", "description": "0 to 100"},
                },
                "required": ["kind", "content", "quote"],
            },
        }
    },
    "required": ["candidates"],
}
"""What the answer looks like. It is not narrower: an answer with one wrong kind has other statements too."""


class Dropped(StrEnum):
    """Why a statement was not kept."""

    UNREADABLE = "unreadable"
    KIND = "kind"
    BLANK = "blank"
    LONG = "long"
    SECRET = "secret"
    PERSONAL = "personal"
    DUPLICATE = "duplicate"
    ECHO = "echo"
    QUOTE = "quote"
    OUTSIDE = "outside"
    OVER_CAP = "over_cap"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Something that a run says, of which a candidate can be made. `key` tells when two say the same.

    `is_label` is a label that is the user's own word, `is_asked` what they ask to remember, and
    `reach` where; `is_pasted` is a label that may have been pasted."""

    kind: Kind
    text: str
    confidence: int
    key: str
    is_label: bool = False
    is_pasted: bool = False
    is_asked: bool = False
    reach: ScopeKind | None = None


@dataclass(frozen=True, kw_only=True)
class Sieved:
    """The statements that are kept, in order, and how many were dropped for which reason."""

    statements: tuple[Statement, ...] = ()
    dropped: Mapping[Dropped, int]


class Sieve:
    """Looks at statements one by one. `personal` drops what holds personal data, which is not to be kept."""

    def __init__(self, *, cap: int, personal: bool, known: Iterable[Statement] = ()) -> None:
        self._cap = cap
        self._personal = personal
        self._seen = {(statement.kind, statement.key) for statement in known}
        self._kept: list[Statement] = []
        self._dropped: Counter[Dropped] = Counter()

    def add_labels(self, labels: Iterable[Labelled]) -> None:
        """What a request labels outright. Only the user's own word is surer than what a model says."""
        for label in labels:
            confidence = limits.CONFIDENCE_DEFAULT if label.is_pasted else LABEL_CONFIDENCE
            found = self._read(label.kind, label.text, confidence)
            if isinstance(found, Statement):
                found = replace(
                    found,
                    is_label=not label.is_pasted,
                    is_pasted=label.is_pasted,
                    is_asked=label.is_asked,
                    reach=label.reach,
                )
            self._add(found)

    def add_answer(self, output: JsonObject, text: RunText) -> None:
        """What a model answered about a run: a statement whose quote is not in it is dropped."""
        items = output.get("candidates")
        if not isinstance(items, Sequence) or isinstance(items, str):
            self._dropped[Dropped.UNREADABLE] += 1
            return
        for item in items[: limits.EXTRACTION_ITEMS_MAX]:
            self._add(self._item(item, text))
        self._dropped[Dropped.OVER_CAP] += max(0, len(items) - limits.EXTRACTION_ITEMS_MAX)

    def add_said(self, kind: Kind, text: str, points: int) -> Statement | None:
        """What a user said that lasts, as it can be kept; None where it cannot be, or is there already."""
        before = len(self._kept)
        self._add(self._read(kind, text, points))
        return self._kept[-1] if len(self._kept) > before else None

    def drop(self, reason: Dropped, statements: Iterable[Statement]) -> None:
        """Take kept statements out again, for a reason that only the caller knows."""
        for statement in statements:
            self._kept.remove(statement)
            self._dropped[reason] += 1

    @property
    def kept(self) -> tuple[Statement, ...]:
        """The statements so far, without regard to the cap."""
        return tuple(self._kept)

    @property
    def is_full(self) -> bool:
        return len(self._kept) >= self._cap

    def result(self) -> Sieved:
        """What is kept: labels first, then what a model is surest of."""
        ordered = sorted(self._kept, key=lambda found: (not found.is_label, -found.confidence))
        over = Counter({Dropped.OVER_CAP: max(0, len(ordered) - self._cap)})
        return Sieved(statements=tuple(ordered[: self._cap]), dropped=+(self._dropped + over))

    def _item(self, item: JsonValue, text: RunText) -> Statement | Dropped:
        if not isinstance(item, Mapping):
            return Dropped.UNREADABLE
        kind, content = item.get("kind"), item.get("content")
        if not isinstance(kind, str) or not isinstance(content, str):
            return Dropped.UNREADABLE
        named = _KINDS.get(kind.strip().casefold())
        problem = Dropped.KIND if named is None else find_quote_problem(item.get("quote"), text)
        if named is None or problem is not None:
            return problem or Dropped.KIND
        return self._read(named, content, confidence_of(item.get("confidence")))

    def _read(self, kind: Kind, content: str, confidence: int) -> Statement | Dropped:
        text = " ".join(without_notes(content).split())
        if not text:
            return Dropped.BLANK
        try:
            text = check_summary(text)
        except Invalid as error:
            return Dropped.LONG if error.code == "record.summary-long" else Dropped.BLANK
        if self._personal and redact_text(text, personal=True).count:
            return Dropped.SECRET if first_secret(text) else Dropped.PERSONAL
        if first_secret(text):
            return Dropped.SECRET
        return Statement(kind=kind, text=text, confidence=confidence, key=semantic_key(text).text)

    def _add(self, found: Statement | Dropped) -> None:
        if isinstance(found, Statement) and (found.kind, found.key) in self._seen:
            found = Dropped.DUPLICATE
        if isinstance(found, Dropped):
            self._dropped[found] += 1
            return
        self._seen.add((found.kind, found.key))
        self._kept.append(found)


def find_quote_problem(quote: JsonValue, text: RunText) -> Dropped | None:
    """Why a quote does not count: the run does not say it, or only in what was pasted into the request."""
    wanted = fold_quote(quote) if isinstance(quote, str) else ""
    if not any(map(str.isalnum, wanted)):
        return Dropped.QUOTE
    if any(wanted in fold_quote(said) for said in (cut_pasted(text.request), text.outcome)):
        return None
    return Dropped.OUTSIDE if wanted in fold_quote(text.request) else Dropped.QUOTE


def confidence_of(value: JsonValue) -> int:
    """A whole number from 0 to 100, the usual one where none that makes sense was given."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return limits.CONFIDENCE_DEFAULT
    return max(0, min(limits.CONFIDENCE_MAX, int(value)))


def document(
    text: RunText, memory: RunMemory, known: Sequence[Statement], *, cap: int, personal: bool
) -> dict[str, JsonValue]:
    """What a model is asked about: bounded, redacted, without what Runlore itself put into the prompt."""
    return {
        "status": memory.status.value,
        "request": _clean_excerpt(text.request, limits.EXTRACTION_REQUEST_CHARS_MAX, personal=personal),
        "outcome": _clean_excerpt(text.outcome, limits.EXTRACTION_OUTCOME_CHARS_MAX, personal=personal),
        "failure_markers": list(memory.failure_markers),
        "known": [{"kind": found.kind.value, "content": found.text} for found in known],
        "allowed_kinds": [kind.value for kind in KINDS],
        "max_candidates": cap,
    }


def _clean_excerpt(text: str, chars_max: int, *, personal: bool) -> str:
    return excerpt(redact_beginning(strip_injected(text).strip(), personal=personal).text, chars_max)


_KINDS = {kind.value: kind for kind in KINDS}
