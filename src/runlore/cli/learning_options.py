"""Options of the learning plane, and their text read into what the operations take."""

from datetime import datetime
from typing import Annotated

from runlore.cli import options
from runlore.cli.options import read_text
from runlore.cli.typer_commands import argument, option
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.record import EvidenceRef, Kind, PolicyDecision, PublishTier, Sensitivity
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.timestamps import parse_time
from runlore.ports.operations import LearningFilters

# More than any content has: what is longer than a content may be is told its length.
_CONTENT_MIB_MAX = 1
_EVIDENCE_KEYS = ("run", "artifact", "event", "note")

TextArgument = Annotated[str | None, argument("TEXT", "What shall be remembered; - reads it from stdin.")]
FileOption = Annotated[str | None, option("--file PATH", "A file that holds the text; - is stdin.")]
RevalidateOption = Annotated[
    datetime | None,
    option("--revalidate-at TIME", "From when it waits to be looked at again.", parse_time),
]


@dataclass(frozen=True, kw_only=True)
class WhereOptions(options.Narrowing):
    """What lists of candidates and of learnings narrow by."""

    scope_kinds: Annotated[
        frozenset[ScopeKind],
        options.any_of("--scope-kind KIND", ScopeKind, "scope kind", about="Only such scopes"),
    ] = frozenset()
    states: options.StatesOption = frozenset()
    decisions: Annotated[
        frozenset[PolicyDecision],
        options.any_of("--decision DECISION", PolicyDecision, "decision", about="Only what was decided so"),
    ] = frozenset()
    text: Annotated[str, option("--text TEXT", "Only with these words in it.")] = ""


@dataclass(frozen=True, kw_only=True)
class LearningWhere(WhereOptions):
    """What narrows learnings alone."""

    tiers: Annotated[frozenset[PublishTier], options.any_of("--tier TIER", PublishTier, "tier")] = frozenset()
    actor: Annotated[str | None, option("--actor NAME", "Only what this actor has published.")] = None
    rule: Annotated[str | None, option("--rule NAME", "Only what this rule of the policy has published.")] = (
        None
    )
    origin: Annotated[str, option("--origin SOURCE", "Only what comes from there, or has words of it.")] = ""

    standing: Annotated[bool, option("--standing", "Only what is in every prompt of its scope.")] = False

    def read(self) -> LearningFilters:
        return LearningFilters(**vars(self))


@dataclass(frozen=True, kw_only=True)
class TermsOptions:
    """How something is published; what is left out stays as it is."""

    kind: Annotated[
        Kind | None,
        option("--kind KIND", "Publish it as fact, preference or decision.", options.one_of(Kind, "kind")),
    ] = None
    scope: Annotated[
        Scope | None, option("--scope KIND[:ID]", "Publish it in this scope.", Scope.parse, "scope")
    ] = None
    sensitivity: Annotated[
        Sensitivity | None,
        option(
            "--sensitivity WORD",
            f"One of {', '.join(Sensitivity)}; prompts get normal alone.",
            options.one_of(Sensitivity, "sensitivity"),
        ),
    ] = None
    confidence: Annotated[int | None, options.number("--confidence N", "From 0 to 100.")] = None
    publish_tier: Annotated[
        PublishTier,
        option(
            "--tier TIER",
            f"One of {', '.join(PublishTier)}; prompts get active alone.",
            options.one_of(PublishTier, "tier"),
        ),
    ] = PublishTier.ACTIVE
    expires_at: Annotated[
        datetime | None, option("--expires-at TIME", "From when it is no longer used.", parse_time)
    ] = None
    revalidate_at: RevalidateOption = None


def content_of(argument: str | None, file: str | None) -> str:
    if (argument is None) == (file is None):
        raise Invalid(
            f"{'no' if argument is None else 'more than one'} text was given",
            code="content.count",
            hint="give one: a TEXT in quotes, --file PATH, or - for stdin",
        )
    if file is not None:
        return _read(file)
    return _read("-") if argument == "-" else str(argument)


def parse_evidence(text: str) -> EvidenceRef:
    parts: dict[str, str] = {}
    rest = text
    while rest:
        name, equals, value = rest.partition("=")
        # A note is the last part, so it may hold commas.
        value, _, rest = (value, "", "") if name.strip() == "note" else value.partition(",")
        if not equals or name.strip() not in _EVIDENCE_KEYS or name.strip() in parts or not value.strip():
            raise _not_evidence(text)
        parts[name.strip()] = value.strip()
    if not parts:
        raise _not_evidence(text)
    event = parts.get("event")
    return EvidenceRef(
        run_id=parts.get("run"),
        artifact_id=parts.get("artifact"),
        event_number=None if event is None else options.whole_number(event, "the event of --evidence"),
        note=parts.get("note"),
    )


EvidenceOption = Annotated[
    tuple[EvidenceRef, ...],
    option(
        "--evidence REFERENCE",
        "What supports it, such as run=ID,artifact=ID,event=N,note=TEXT. Repeatable.",
        parse_evidence,
    ),
]


def _not_evidence(text: str) -> Invalid:
    return Invalid(
        f"{options.shorten_text(text)!r} names no evidence",
        code="evidence.format",
        hint="write it as --evidence run=ID,artifact=ID,event=N,note=TEXT, with what there is of them",
    )


def _read(path: str) -> str:
    hint = f"say what is to be remembered in at most {limits.SUMMARY_CHARS_MAX:,} characters"
    return read_text(path, mib_max=_CONTENT_MIB_MAX, too_large=hint, code="content.file")
