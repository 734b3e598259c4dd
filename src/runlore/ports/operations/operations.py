"""All operations together."""

from typing import Protocol

from runlore.ports.operations.agent import AgentOperations
from runlore.ports.operations.hooks import HookOperations
from runlore.ports.operations.learning import LearningOperations
from runlore.ports.operations.library import LibraryOperations
from runlore.ports.operations.projection import ProjectionOperations
from runlore.ports.operations.radar import RadarOperations
from runlore.ports.operations.records import RecordOperations
from runlore.ports.operations.review import ReviewOperations
from runlore.ports.operations.rollouts import RolloutOperations
from runlore.ports.operations.service import ServiceOperations
from runlore.ports.operations.sessions import SessionOperations
from runlore.ports.operations.skills import SkillOperations
from runlore.ports.operations.worth import WorthOperations


class Operations(
    RecordOperations,
    ReviewOperations,
    RadarOperations,
    LearningOperations,
    SessionOperations,
    ProjectionOperations,
    SkillOperations,
    LibraryOperations,
    RolloutOperations,
    AgentOperations,
    HookOperations,
    ServiceOperations,
    WorthOperations,
    Protocol,
):
    """All operations, bound to one caller."""
