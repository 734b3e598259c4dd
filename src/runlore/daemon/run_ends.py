"""How runs end here: which process writes their memories, and where they are kept."""

from runlore.daemon.parts import Parts
from runlore.flow.capture.remember import Remembering
from runlore.flow.reactions import Closing


def remembering(parts: Parts) -> Remembering:
    """What writes the memories of runs that have ended."""
    return Remembering(store=parts.store, memories=parts.run_memories, clock=parts.clock, ids=parts.ids)


def closing(parts: Parts) -> Closing:
    """What ends runs; their memories are this process's to write."""
    return Closing(ids=parts.ids, holder=parts.process_id)
