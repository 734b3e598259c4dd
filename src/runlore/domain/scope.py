"""Where a record belongs: a session, a persona, a project or the whole workspace."""

from enum import StrEnum
from typing import Self

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.text.safe_text import is_storable

WORKSPACE_ID = "default"


class ScopeKind(StrEnum):
    """The four kinds, in order of priority: the narrowest first."""

    SESSION = "session"
    PERSONA = "persona"
    PROJECT = "project"
    WORKSPACE = "workspace"


_RANKS = {kind: rank for rank, kind in enumerate(ScopeKind)}
_KINDS = frozenset(kind.value for kind in ScopeKind)


@JsonForm(lineage=("id",))
@dataclass(frozen=True, order=True)
class Scope:
    """One scope. The workspace's id is always `default`."""

    kind: ScopeKind
    id: str

    def __post_init__(self) -> None:
        if not self.id.strip() or self.id != self.id.strip():
            raise Invalid(
                f"the {self.kind} scope's id is blank or has outer white space: {self.id!r}",
                code="scope.id",
                hint=f"name it as {self.kind}:ID, without spaces around ID",
            )
        if not is_storable(self.id):
            raise Invalid(
                f"the {self.kind} scope's id holds a NUL character or half of a surrogate pair",
                code="scope.id",
                hint="remove it: it cannot be stored or shown",
            )
        if len(self.id) > limits.ID_CHARS_MAX:
            raise Invalid(
                f"the {self.kind} scope's id has {len(self.id)} characters, more than {limits.ID_CHARS_MAX}",
                code="scope.id",
                hint="use a shorter id",
            )
        if self.kind is ScopeKind.WORKSPACE and self.id != WORKSPACE_ID:
            raise Invalid(
                f"the workspace's id is always {WORKSPACE_ID!r}, not {self.id!r}",
                code="scope.workspace-id",
                hint="use --scope workspace, or a project, persona or session scope",
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `KIND:ID`, or `workspace` alone."""
        kind, colon, identifier = text.partition(":")
        if kind not in _KINDS:
            raise Invalid(
                f"{kind!r} is not a scope kind; there are {', '.join(ScopeKind)}",
                code="scope.kind",
                hint="write a scope as KIND:ID, for example project:acme, or workspace",
            )
        if not colon and kind == ScopeKind.WORKSPACE:
            identifier = WORKSPACE_ID
        return cls(kind=ScopeKind(kind), id=identifier)

    def is_narrower_than(self, other: "Scope") -> bool:
        """Whether it is of a kind that comes before the other's; two projects are equally wide."""
        return _RANKS[self.kind] < _RANKS[other.kind]

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


WORKSPACE = Scope(ScopeKind.WORKSPACE, WORKSPACE_ID)
