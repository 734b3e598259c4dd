"""Options of the learning plane, and their text read into what the operations take."""

from dataclasses import field
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.input_files import text_of
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.record import EvidenceRef, Kind, PolicyDecision, PublishTier, Sensitivity, State
from runlore.domain.scope import Scope, ScopeKind
from runlore.ports.operations import LearningFilters

# More than any content has: what is longer than a content may be is told its length.
_CONTENT_MIB_MAX = 1
_EVIDENCE_KEYS = ("run", "artifact", "event", "note")

TextArgument = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="What shall be remembered; - reads it from stdin."),
]
FileOption = Annotated[
    str | None, typer.Option("--file", metavar="PATH", help="A file that holds the text; - is stdin.")
]
EvidenceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        metavar="REFERENCE",
        help="What supports it, such as run=ID,artifact=ID,event=N,note=TEXT. Repeatable.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class WhereOptions(options.Narrowing):
    """What lists of candidates and of learnings narrow by."""

    scope_kind: Annotated[
        list[str],
        typer.Option(
            "--scope-kind", metavar="KIND", help=f"Only such scopes: {', '.join(ScopeKind)}. Repeatable."
        ),
    ] = field(default_factory=list)
    state: Annotated[
        list[str],
        typer.Option(
            *options.STATE_NAMES, metavar="STATE", help=f"Only this state: {', '.join(State)}. Repeatable."
        ),
    ] = field(default_factory=list)
    decision: Annotated[
        list[str],
        typer.Option(
            "--decision",
            metavar="DECISION",
            help=f"Only what was decided so: {', '.join(PolicyDecision)}. Repeatable.",
        ),
    ] = field(default_factory=list)
    text: Annotated[str, typer.Option("--text", metavar="TEXT", help="Only with these words in it.")] = ""

    def scope_kinds(self) -> frozenset[ScopeKind]:
        return options.words(ScopeKind, self.scope_kind, "scope kind")

    def states(self) -> frozenset[State]:
        return options.words(State, self.state, "state")

    def decisions(self) -> frozenset[PolicyDecision]:
        return options.words(PolicyDecision, self.decision, "decision")


@dataclass(frozen=True, kw_only=True)
class LearningWhere(WhereOptions):
    """What narrows learnings alone."""

    tier: Annotated[
        list[str],
        typer.Option("--tier", metavar="TIER", help=f"Only this tier: {', '.join(PublishTier)}. Repeatable."),
    ] = field(default_factory=list)
    actor: Annotated[
        str | None, typer.Option("--actor", metavar="NAME", help="Only what this actor has published.")
    ] = None
    rule: Annotated[
        str | None,
        typer.Option("--rule", metavar="NAME", help="Only what this rule of the policy has published."),
    ] = None

    def read(self) -> LearningFilters:
        return LearningFilters(
            scopes=self.scopes(),
            scope_kinds=self.scope_kinds(),
            kinds=self.kinds(),
            states=self.states(),
            tiers=options.words(PublishTier, self.tier, "tier"),
            decisions=self.decisions(),
            actor=self.actor,
            rule=self.rule,
            text=self.text,
        )


@dataclass(frozen=True, kw_only=True)
class TermsOptions:
    """How something is published; what is left out stays as it is."""

    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Publish it as fact, preference or decision.")
    ] = None
    scope: Annotated[
        str | None, typer.Option("--scope", metavar="KIND[:ID]", help="Publish it in this scope.")
    ] = None
    sensitivity: Annotated[
        str | None,
        typer.Option(
            "--sensitivity",
            metavar="WORD",
            help=f"One of {', '.join(Sensitivity)}; prompts get normal alone.",
        ),
    ] = None
    confidence: Annotated[str | None, typer.Option("--confidence", metavar="N", help="From 0 to 100.")] = None
    tier: Annotated[
        str,
        typer.Option(
            "--tier", metavar="TIER", help=f"One of {', '.join(PublishTier)}; prompts get active alone."
        ),
    ] = PublishTier.ACTIVE.value
    expires_at: Annotated[
        str | None,
        typer.Option("--expires-at", metavar="TIME", help="From when it is no longer used."),
    ] = None
    revalidate_at: Annotated[
        str | None,
        typer.Option("--revalidate-at", metavar="TIME", help="From when it waits to be looked at again."),
    ] = None

    def read_kind(self) -> Kind | None:
        return None if self.kind is None else options.word(Kind, self.kind, "kind")

    def read_scope(self) -> Scope | None:
        return None if self.scope is None else Scope.parse(self.scope)

    def read_sensitivity(self) -> Sensitivity | None:
        word = self.sensitivity
        return None if word is None else options.word(Sensitivity, word, "sensitivity")

    def read_confidence(self) -> int | None:
        return options.optional_number(self.confidence, "--confidence")

    def read_tier(self) -> PublishTier:
        return options.word(PublishTier, self.tier, "tier")


def content_of(argument: str | None, file: str | None) -> str:
    """The text: an argument, a file, or standard input."""
    if (argument is None) == (file is None):
        raise Invalid(
            f"{'no' if argument is None else 'more than one'} text was given",
            code="content.count",
            hint="give one: a TEXT in quotes, --file PATH, or - for stdin",
        )
    if file is not None:
        return _read(file)
    return _read("-") if argument == "-" else str(argument)


def evidence_of(texts: list[str] | None) -> tuple[EvidenceRef, ...]:
    return tuple(_reference(text) for text in texts or ())


def _reference(text: str) -> EvidenceRef:
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
    return EvidenceRef(
        run_id=parts.get("run"),
        artifact_id=parts.get("artifact"),
        event_number=options.optional_number(parts.get("event"), "the event of --evidence"),
        note=parts.get("note"),
    )


def _not_evidence(text: str) -> Invalid:
    return Invalid(
        f"{options.shorten_text(text)!r} names no evidence",
        code="evidence.format",
        hint="write it as --evidence run=ID,artifact=ID,event=N,note=TEXT, with what there is of them",
    )


def _read(path: str) -> str:
    hint = f"say what is to be remembered in at most {limits.SUMMARY_CHARS_MAX:,} characters"
    return text_of(path, mib_max=_CONTENT_MIB_MAX, too_large=hint, refused=_file_error)


def _file_error(problem: str, hint: str) -> Invalid:
    return Invalid(problem, code="content.file", hint=hint)
