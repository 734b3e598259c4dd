"""Who may call what: the roles that each operation is declared for."""

from runlore.domain.access import Caller
from runlore.domain.errors import Denied
from runlore.ports.operations import OPERATIONS


def require_role(caller: Caller, operation: str) -> None:
    """Refuse an operation that is not for this caller's role, or not for one that is limited to scopes."""
    declared = OPERATIONS[operation]
    allowed = declared.roles
    if caller.role not in allowed:
        named = " or ".join(sorted(allowed))
        raise Denied(
            f"{operation} is for the role {named}; {caller.actor} has the role {caller.role}",
            code="role.denied",
            hint=f"use a token of the role {named}",
        )
    if declared.unlimited and caller.scopes is not None:
        raise Denied(
            f"{operation} concerns everything, and the token of {caller.actor} is limited to some scopes",
            code="scope.denied",
            hint="use a token without a limit",
        )
