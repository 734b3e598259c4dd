"""How runs end here: which process writes their memories, and where they are kept."""

from typing import TYPE_CHECKING

from runlore.daemon.parts import Parts
from runlore.domain.lazy import LazyModule

if TYPE_CHECKING:
    from runlore.flow import reactions
    from runlore.flow.capture import remember
else:
    reactions = LazyModule("runlore.flow.reactions")
    remember = LazyModule("runlore.flow.capture.remember")


def remembering(parts: Parts) -> "remember.Remembering":
    return remember.Remembering(
        store=parts.store, memories=parts.run_memories, clock=parts.clock, ids=parts.ids
    )


def closing(parts: Parts) -> "reactions.Closing":
    return reactions.Closing(ids=parts.ids, holder=parts.process_id)
