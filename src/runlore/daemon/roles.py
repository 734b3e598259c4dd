"""One table of role and operation: who may call what."""

from runlore.domain.access import Caller, Role
from runlore.domain.errors import Denied

_EVERYBODY = frozenset(Role)
# Their answers are not bound to one session, and an agent sees only what its session sees.
_OVERSEERS = frozenset({Role.READER, Role.OPERATOR})
_AGENTS = frozenset({Role.AGENT, Role.OPERATOR})
_OPERATORS = frozenset({Role.OPERATOR})

ROLES = {
    "list_records": _EVERYBODY,
    "get_record": _EVERYBODY,
    "history": _EVERYBODY,
    "search": _EVERYBODY,
    "goal_context": _EVERYBODY,
    "states": _EVERYBODY,
    "review_list": _EVERYBODY,
    "radar_log": _OVERSEERS,
    "status": _OVERSEERS,
    "propose_profile": _AGENTS,
    "add_episode": _AGENTS,
    "radar_add": _AGENTS,
    "create_candidate": _AGENTS,
    "list_candidates": _EVERYBODY,
    "get_candidate": _EVERYBODY,
    "list_learnings": _EVERYBODY,
    "get_learning": _EVERYBODY,
    "feedback": _AGENTS,
    "publish": _OPERATORS,
    "revoke": _OPERATORS,
    "revoke_matching": _OPERATORS,
    "supersede": _OPERATORS,
    "verify": _OPERATORS,
    "test_policy": _OPERATORS,
    "backfill_capture": _OPERATORS,
    "work_jobs": _OPERATORS,
    "confirm": _OPERATORS,
    "reject": _OPERATORS,
    "rollback": _OPERATORS,
    "restore": _OPERATORS,
    "compact": _OPERATORS,
    "dedup": _OPERATORS,
    "forget": _OPERATORS,
    "radar_adopt": _OPERATORS,
    "radar_undo": _OPERATORS,
    "create_session": _AGENTS,
    "change_session": _AGENTS,
    "get_session": _EVERYBODY,
    "list_sessions": _EVERYBODY,
    "put_persona": _OPERATORS,
    "get_persona": _OVERSEERS,
    "list_personas": _OVERSEERS,
    "open_run": _AGENTS,
    "get_run": _EVERYBODY,
    "list_runs": _EVERYBODY,
    "append_events": _AGENTS,
    "add_checkpoint": _AGENTS,
    "add_scratch": _AGENTS,
    "list_scratch": _EVERYBODY,
    "add_artifact": _AGENTS,
    "get_artifact": _EVERYBODY,
    "list_artifacts": _EVERYBODY,
    "finish_run": _AGENTS,
    "journal": _EVERYBODY,
    "memory_context": _EVERYBODY,
    "session_search": _EVERYBODY,
    "preview_input": _EVERYBODY,
    "receipt": _EVERYBODY,
    "import_runs": _OPERATORS,
    "transcript_positions": _OPERATORS,
    "suggest": _OPERATORS,
    "list_suggestions": _OVERSEERS,
    "get_suggestion": _OVERSEERS,
    "skip_suggestion": _OPERATORS,
    "reset_suggestion": _OPERATORS,
    "get_policy": _OVERSEERS,
    "put_policy": _OPERATORS,
    "policy_history": _OVERSEERS,
    "rollback_policy": _OPERATORS,
    "create_token": _OPERATORS,
    "list_tokens": _OPERATORS,
    "revoke_token": _OPERATORS,
    "pause_capture": _OPERATORS,
    "resume_capture": _OPERATORS,
    "capture_status": _OVERSEERS,
    "list_jobs": _OVERSEERS,
    "retry_job": _OPERATORS,
    "export": _OPERATORS,
    "import_records": _OPERATORS,
    "backup": _OPERATORS,
    "restore_backup": _OPERATORS,
    "doctor": _OPERATORS,
}
# These concern everything that there is, so a token that is limited to some scopes is not good for them.
UNLIMITED = frozenset(
    {
        "status",
        "put_persona",
        "put_policy",
        "rollback_policy",
        "create_token",
        "list_tokens",
        "revoke_token",
        "pause_capture",
        "resume_capture",
        "list_jobs",
        "retry_job",
        "test_policy",
        "backfill_capture",
        "work_jobs",
        "import_runs",
        "transcript_positions",
        "suggest",
        "list_suggestions",
        "get_suggestion",
        "skip_suggestion",
        "reset_suggestion",
        "export",
        "import_records",
        "backup",
        "restore_backup",
        "doctor",
    }
)


def require_role(caller: Caller, operation: str) -> None:
    """Refuse an operation that is not for this caller's role, or not for one that is limited to scopes."""
    allowed = ROLES[operation]
    if caller.role not in allowed:
        named = " or ".join(sorted(allowed))
        raise Denied(
            f"{operation} is for the role {named}; {caller.actor} has the role {caller.role}",
            code="role.denied",
            hint=f"use a token of the role {named}",
        )
    if operation in UNLIMITED and caller.scopes is not None:
        raise Denied(
            f"{operation} concerns everything, and the token of {caller.actor} is limited to some scopes",
            code="scope.denied",
            hint="use a token without a limit",
        )
