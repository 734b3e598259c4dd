"""What other memory systems on this machine hold, for whoever brings it along."""

from runlore.agents.foreign_memories import SYSTEMS, read_foreign_memories

__all__ = ["SYSTEM_NAMES", "read_foreign_memories"]

SYSTEM_NAMES = tuple(SYSTEMS)
