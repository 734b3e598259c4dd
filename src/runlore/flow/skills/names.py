"""Names of suggestions, skills and promoted procedures: one namespace; nothing takes what another one has."""

from collections.abc import Iterator

from runlore.domain.errors import Conflict
from runlore.domain.skill import SuggestionId
from runlore.domain.suggesting.naming import unique_name
from runlore.ports.store import Transaction


def is_free(tx: Transaction, name: str, *, besides: SuggestionId | None = None) -> bool:
    """Whether no skill has a name, no promoted procedure whatever became of it, and no suggestion `besides`
    one."""
    owner = tx.suggestions.find(name=name)
    is_ours = owner is None or owner.suggestion_id == besides
    return is_ours and tx.skills.find(name) is None and name not in tx.promotions.names()


def refuse_promoted(tx: Transaction, name: str) -> None:
    """Raise Conflict (`skill.exists`) where a promoted procedure has a name: it is kept for it."""
    if name in tx.promotions.names():
        raise Conflict(
            f"there is a promoted skill called {name} already",
            code="skill.exists",
            hint=f"`runlore skill rollout status {name}` shows it; choose another name",
        )


def names_of(wanted: str) -> Iterator[str]:
    """The names that something can get: the one that is wanted, then it with a number, without end."""
    tried = set[str]()
    while True:
        name = unique_name(wanted, tried)
        yield name
        tried.add(name)


def free_name(tx: Transaction, wanted: str, *, besides: SuggestionId | None = None) -> str:
    """A name that nothing has: the one that is wanted, or it with a number."""
    return next(name for name in names_of(wanted) if is_free(tx, name, besides=besides))
