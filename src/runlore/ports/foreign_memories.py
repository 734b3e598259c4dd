"""What was remembered elsewhere, as its reader hands it over."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ForeignMemory:
    """One sentence of another system: its text in a line, the id and place it has there, when it was noted,
    and the name of the folder that it belongs to, as far as that system says so."""

    text: str
    id: str
    place: str = ""
    noted_at: str = ""
    project: str = ""


@dataclass(frozen=True, kw_only=True)
class ForeignMemories:
    """All that one file or folder holds."""

    system: str
    memories: tuple[ForeignMemory, ...]
