"""A Runlore that dies at one point of a capture: as in `kill_points`, and around every write of a memory."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from runlore.daemon.parts import Parts
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.run import RunId
from runlore.ports.model import Models
from runlore.ports.run_memories import MemoryTerms, RunMemories
from tests.flow.kill_points import Fuse, mortal


class DyingMemories:
    """Run memories with points around every write, and otherwise those behind it."""

    def __init__(self, real: RunMemories, fuse: Fuse) -> None:
        self._real = real
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def put(self, memory: RunMemory, owed: MemoryTerms | None = None) -> None:
        """Keep a memory."""
        self._fuse.at("before a memory is kept")
        self._real.put(memory, owed)
        self._fuse.at("behind a memory is kept")

    def note_captures(self, states: Mapping[RunId, CaptureState]) -> None:
        """Note a receipt."""
        self._fuse.at("before a receipt is noted")
        self._real.note_captures(states)
        self._fuse.at("behind a receipt is noted")


def capturing(parts: Parts, models: Models, fuse: Fuse) -> Parts:
    """Parts of a process that can die while it captures."""
    memories = cast("RunMemories", DyingMemories(parts.run_memories, fuse))
    return replace(mortal(replace(parts, models=models), fuse), run_memories=memories)
