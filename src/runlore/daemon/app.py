"""The operations of one Runlore, bound to one caller: an area is loaded with the first of its operations."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from runlore.daemon.parts import Parts

# The areas by their modules, each with the operations that it has.
AREAS = {
    "records.RecordActs": "list_records get_record history search states propose_profile add_episode",
    "review.ReviewActs": "forget review_list confirm reject rollback restore compact dedup",
    "radar.RadarActs": "radar_add radar_adopt radar_undo radar_log",
    "learning.LearningActs": (
        "create_candidate list_candidates get_candidate publish list_learnings get_learning "
        "revoke revoke_matching supersede verify feedback"
    ),
    "trials.TrialActs": "test_policy",
    "capturing.CaptureActs": "backfill_capture delete_run_memories",
    "working.WorkActs": "work_jobs",
    "sessions.SessionActs": (
        "open_run get_run list_runs add_scratch list_scratch add_artifact get_artifact "
        "list_artifacts finish_run append_events add_checkpoint journal create_session "
        "change_session get_session list_sessions put_persona get_persona list_personas"
    ),
    "projection.ProjectionActs": "memory_context session_search preview_input receipt goal_context",
    "service.ServiceActs": (
        "get_policy put_policy policy_history rollback_policy create_token list_tokens "
        "revoke_token pause_capture resume_capture capture_status list_jobs retry_job"
    ),
    "upkeep.UpkeepActs": "export import_records backup restore_backup doctor status",
    "skills.SkillActs": (
        "import_runs transcript_positions suggest list_suggestions get_suggestion skip_suggestion "
        "reset_suggestion"
    ),
    "library.LibraryActs": (
        "save_skill import_skill list_skills get_skill accept_skill delete_skill restore_skill "
        "match_skills session_skills use_skill curate_skills undo_curation list_curations "
        "reset_skips skill_log"
    ),
    "agent.AgentActs": "start_input follow_run cancel_run list_approvals get_approval decide_approval",
    "rollouts.RolloutActs": (
        "promote_learning list_promoted get_promoted promoted_history record_result "
        "advance_promoted revoke_promoted rollback_promoted"
    ),
    "trying.TryActs": "try_promoted",
}

if TYPE_CHECKING:
    from runlore.daemon.operations.agent import AgentActs
    from runlore.daemon.operations.capturing import CaptureActs
    from runlore.daemon.operations.learning import LearningActs
    from runlore.daemon.operations.library import LibraryActs
    from runlore.daemon.operations.projection import ProjectionActs
    from runlore.daemon.operations.radar import RadarActs
    from runlore.daemon.operations.records import RecordActs
    from runlore.daemon.operations.review import ReviewActs
    from runlore.daemon.operations.rollouts import RolloutActs
    from runlore.daemon.operations.service import ServiceActs
    from runlore.daemon.operations.sessions import SessionActs
    from runlore.daemon.operations.skills import SkillActs
    from runlore.daemon.operations.trials import TrialActs
    from runlore.daemon.operations.trying import TryActs
    from runlore.daemon.operations.upkeep import UpkeepActs
    from runlore.daemon.operations.working import WorkActs
    from runlore.domain.access import Caller

    class Application(
        RecordActs,
        ReviewActs,
        RadarActs,
        LearningActs,
        TrialActs,
        CaptureActs,
        WorkActs,
        SessionActs,
        ProjectionActs,
        ServiceActs,
        UpkeepActs,
        SkillActs,
        LibraryActs,
        AgentActs,
        RolloutActs,
        TryActs,
    ):
        """Each act is one transaction, and with an idempotency key one effect (`acts`)."""

else:

    class Application:
        """Every operation, in the area that has it."""

        def __init__(self, parts: Parts, caller: "Caller") -> None:
            self.parts = parts
            self.caller = caller

        def __getattr__(self, name: str) -> object:
            # What is in no row is looked for everywhere: the table only saves time.
            for area in AREAS:
                if hasattr(_load(area), name):
                    return getattr(_load(area)(self.parts, self.caller), name)
            raise AttributeError(f"there is no operation {name!r}")


class _Operation:
    """An operation as an attribute of `Application`: its area is loaded when somebody asks for it."""

    def __init__(self, area: str, name: str) -> None:
        self._area = area
        self._name = name

    def __get__(self, application: Application, owner: type) -> object:
        return getattr(_load(self._area)(application.parts, application.caller), self._name)


def _load(area: str) -> Callable[[Parts, "Caller"], object]:
    module, _, kind = area.partition(".")
    found: Callable[[Parts, Caller], object] = getattr(
        import_module(f"runlore.daemon.operations.{module}"), kind
    )
    return found


for _area, _names in AREAS.items():
    for _name in _names.split():
        setattr(Application, _name, _Operation(_area, _name))

__all__ = ["AREAS", "Application", "Parts"]
