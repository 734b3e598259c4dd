"""One table of role and operation: who may call what."""

from runlore.domain.errors import Denied
from runlore.ports.operations import Caller, Role

LEAST_ROLE = {
    "list_records": Role.READER,
    "get_record": Role.READER,
    "history": Role.READER,
    "search": Role.READER,
    "states": Role.READER,
    "review_list": Role.READER,
    "radar_log": Role.READER,
    "status": Role.READER,
    "propose_profile": Role.AGENT,
    "add_episode": Role.AGENT,
    "radar_add": Role.AGENT,
    "confirm": Role.OPERATOR,
    "reject": Role.OPERATOR,
    "rollback": Role.OPERATOR,
    "restore": Role.OPERATOR,
    "compact": Role.OPERATOR,
    "dedup": Role.OPERATOR,
    "forget": Role.OPERATOR,
    "radar_adopt": Role.OPERATOR,
    "radar_undo": Role.OPERATOR,
    "export": Role.OPERATOR,
    "import_records": Role.OPERATOR,
}
_RANK = {role: rank for rank, role in enumerate(Role)}


def require_role(caller: Caller, operation: str) -> None:
    """Refuse an operation that is not for this caller's role."""
    least = LEAST_ROLE[operation]
    if _RANK[caller.role] < _RANK[least]:
        raise Denied(
            f"{operation} is for the role {least}; {caller.actor} has the role {caller.role}",
            code="role.denied",
            hint=f"use a token of the role {least}",
        )
