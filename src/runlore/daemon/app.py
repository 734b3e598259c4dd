"""The operations of one Runlore, bound to one caller: an area is loaded with the first of its operations."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from runlore.daemon.parts import Parts
from runlore.ports.operations.areas import AREA_OF_OPERATION

# What is not done in the module of its area: few ask for it, and others do not load it.
_APART = {
    "access": "create_token list_tokens revoke_token rotate_token list_audit",
    "capturing": "backfill_capture delete_run_memories work_jobs",
    "inbox": "inbox",
    "projection": "goal_context",
    "reading": "plan_reading read_sessions",
    "trials": "test_policy try_promoted",
    "upkeep": "export import_records backup restore_backup doctor status",
}
_MODULES = AREA_OF_OPERATION | {name: module for module, names in _APART.items() for name in names.split()}

if TYPE_CHECKING:
    from runlore.daemon.operations.access import AccessActs
    from runlore.daemon.operations.agent import AgentActs
    from runlore.daemon.operations.capturing import CaptureActs
    from runlore.daemon.operations.hooks import HookActs
    from runlore.daemon.operations.inbox import InboxActs
    from runlore.daemon.operations.learning import LearningActs
    from runlore.daemon.operations.library import LibraryActs
    from runlore.daemon.operations.projection import ProjectionActs
    from runlore.daemon.operations.radar import RadarActs
    from runlore.daemon.operations.reading import ReadingActs
    from runlore.daemon.operations.records import RecordActs
    from runlore.daemon.operations.review import ReviewActs
    from runlore.daemon.operations.rollouts import RolloutActs
    from runlore.daemon.operations.service import ServiceActs
    from runlore.daemon.operations.sessions import SessionActs
    from runlore.daemon.operations.skills import SkillActs
    from runlore.daemon.operations.trials import TrialActs
    from runlore.daemon.operations.upkeep import UpkeepActs
    from runlore.daemon.operations.worth import WorthActs
    from runlore.domain.access import Caller

    class Application(
        RecordActs,
        ReviewActs,
        InboxActs,
        RadarActs,
        LearningActs,
        TrialActs,
        CaptureActs,
        SessionActs,
        ProjectionActs,
        ServiceActs,
        AccessActs,
        UpkeepActs,
        WorthActs,
        SkillActs,
        ReadingActs,
        LibraryActs,
        AgentActs,
        RolloutActs,
        HookActs,
    ):
        """Each act is one transaction, and with an idempotency key one effect (`acts`)."""

else:

    class Application:
        """Every operation, in the area that has it."""

        def __init__(self, parts: Parts, caller: "Caller") -> None:
            self.parts = parts
            self.caller = caller

        def __getattr__(self, name: str) -> object:
            if name not in _MODULES:
                raise AttributeError(f"there is no operation {name!r}")
            return getattr(_load(_MODULES[name])(self.parts, self.caller), name)


@cache
def _load(name: str) -> Callable[[Parts, "Caller"], object]:
    """The class of a module whose methods are its operations."""
    module = import_module(f"runlore.daemon.operations.{name}")
    own = (each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__)
    found: Callable[[Parts, Caller], object] = next(each for each in own if each.__name__.endswith("Acts"))
    return found


__all__ = ["Application", "Parts"]
