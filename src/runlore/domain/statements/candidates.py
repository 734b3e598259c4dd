"""Candidates of what users say (CAP-8): where each belongs, what is noted of it, and how it ranks.

What is noted stands in the metadata of the record: whether it ranks first, in how many sessions it was said,
and the parts that its confidence is the sum of, by their names in `WEIGHTS`: a search finds no words there.
"""

from collections.abc import Iterable
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.learning.extraction import Sieve
from runlore.domain.learning.labels import LABEL_CONFIDENCE, Labelled, find_labelled
from runlore.domain.learning.remember_requests import asks_nothing_lasting, find_remember_requests, kind_of
from runlore.domain.record import OWN_WORDS, EvidenceRef, JsonValue, Kind, Source
from runlore.domain.records.admission import Draft
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import Binding
from runlore.domain.statements.features import SentenceFeatures
from runlore.domain.statements.finding import OwnStatement, scope_kind
from runlore.domain.statements.sentences import sentence_of
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.statements.weights import WEIGHTS
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.text.excerpt import excerpt

_NAMES = {reason: name for name, (_, reason) in WEIGHTS.items()}


def proposable(
    stated: Iterable[OwnStatement], sieve: Sieve, *, leaves_reminders: bool, asked: str | None = None
) -> list[OwnStatement]:
    """Those that pass a sieve, in the words that are kept. `asked` is the whole request where it is at hand.
    What it labels is left to the labels; with `leaves_reminders` others see to what it asks to remember."""
    found: list[OwnStatement] = []
    for each in stated:
        if not asks_nothing_lasting(each.text) and not _is_told_elsewhere(
            each.text, asked or each.text, leaves_reminders=leaves_reminders
        ):
            kept = sieve.add_said(each.kind, each.text, each.confidence.points)
            found += [] if kept is None else [replace(each, text=kept.text)]
    return found


def _is_told_elsewhere(text: str, asked: str, *, leaves_reminders: bool) -> bool:
    reminders = find_remember_requests(asked) if leaves_reminders else ()
    said = _plain(text)
    others = [_plain(each.text) for each in (*find_labelled(asked), *reminders)]
    return any(other in said or said in other for other in others)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def candidate_of(statement: OwnStatement, source: Source, scope: Scope) -> Draft:
    """The candidate of a statement. The user's own words are trusted; what a tool from outside may have put
    there is not."""
    foreign = tuple(excerpt(tool, limits.TITLE_CHARS_MAX) for tool in statement.foreign_tools)
    return Draft(
        kind=statement.kind,
        summary=statement.text,
        scope=scope,
        metadata={OWN_WORDS: notes_of(statement)},
        confidence=statement.confidence.points,
        source=source,
        evidence_refs=evidence_of(statement.said),
        provenance=Provenance(untrusted=True, needs_review=True, sources=foreign) if foreign else TRUSTED,
        is_own=not foreign,
    )


def remembered_draft(
    asked: Labelled, source: Source, evidence: EvidenceRef, *, binding: Binding, provenance: Provenance
) -> Draft:
    """The candidate of what a user asks to remember. It belongs where its words call for, as what is said
    without being asked for does, and stands first."""
    kind = asked.reach or scope_kind(asked.kind, SentenceFeatures(sentence_of(asked.text)))
    parts: dict[str, JsonValue] = {"reminder": LABEL_CONFIDENCE}
    return Draft(
        kind=asked.kind,
        summary=asked.text,
        scope=scope_of(kind, [binding]),
        metadata={OWN_WORDS: {"first": True, "sessions": 1, "refusal": False, "parts": parts}},
        confidence=LABEL_CONFIDENCE,
        source=source,
        evidence_refs=(evidence,),
        provenance=provenance,
        is_own=True,
    )


def guess_statement(text: str, kind: Kind | None = None) -> tuple[Kind, ScopeKind]:
    """What kind of statement somebody wants remembered, unless it is said, and where it holds: the same as if
    a user asked an agent to remember it."""
    found = find_remember_requests(f"Remember: {text}")
    asked = found[0] if len(found) == 1 else None
    known = kind or (asked.kind if asked else kind_of(text) if text.split() else Kind.FACT)
    reach = asked.reach if asked else None
    return known, reach or scope_kind(known, SentenceFeatures(sentence_of(text)))


def notes_of(statement: OwnStatement) -> dict[str, JsonValue]:
    """What is noted of a statement beside its text."""
    return {
        "first": statement.is_first,
        "sessions": statement.sessions,
        "refusal": any(said.is_refusal for said in statement.said),
        "parts": {_NAMES[part.reason]: part.points for part in statement.confidence.parts},
    }


def evidence_of(said: Iterable[UserMessage]) -> tuple[EvidenceRef, ...]:
    """Where it was said."""
    return tuple(EvidenceRef(run_id=one.run_id, event_number=one.event_number) for one in said)


def scope_of(kind: ScopeKind, bindings: Iterable[Binding]) -> Scope:
    """Where a statement of sessions with these bindings belongs: to the persona or the project that all of
    them have, else to the workspace."""
    names: set[str | None] = {
        binding.persona_id if kind is ScopeKind.PERSONA else next(iter(binding.project_ids), None)
        for binding in bindings
    }
    name = names.pop() if len(names) == 1 else None
    return WORKSPACE if name is None else Scope(kind, name)
