"""Skills in folders, as Runlore and as people write them."""

from pathlib import Path

from runlore.domain.skill import SkillDocument
from runlore.domain.skill_document import render_document
from runlore.ports.skill_files import FileStanding
from runlore.skill_files.disk import Disk
from runlore.skill_files.root import SkillRoot


class QuickDisk(Disk):
    """A disk that is not waited for: who dies in a test is not the machine."""

    def sync(self, file: int) -> None:
        """What was written is in the system's memory, and all readers see it."""


def quick_root(state: Path) -> SkillRoot:
    """The skill root of a state folder, without waiting for the disk."""
    return SkillRoot(str(state), disk=QuickDisk())


def text_of(name: str, body: str = "# Steps\n") -> str:
    """A skill's file."""
    return render_document(SkillDocument(name=name, description=f"What {name} does.", body=body))


def written(state: Path, name: str, text: str) -> Path:
    """A skill that a person put there."""
    path = state / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def standing(state: Path, name: str) -> FileStanding | None:
    """Whose a folder is."""
    found = quick_root(state).find(name)
    return None if found is None else found.standing
