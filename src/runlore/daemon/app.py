"""The operations of one Runlore, bound to one caller: all areas together."""

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
from runlore.daemon.parts import Parts


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


__all__ = ["Application", "Parts"]
