"""Folders where agents look for skills, and state roots that put copies there."""

from pathlib import Path

from runlore.skill_files.disk import Disk
from runlore.skill_files.front_matter import read_skill
from runlore.skill_files.mount_lists import MountLists
from runlore.skill_files.mounts import FolderMounts
from tests.skill_files.skill_folders import QuickDisk


def mounts(folder: Path, *, disk: Disk | None = None, state: str = "state") -> FolderMounts:
    """What mounts skills on this machine for a state root that lies beside the project of a folder."""
    root = folder.parents[2] / state
    root.mkdir(exist_ok=True)
    used = disk or QuickDisk()
    return FolderMounts(MountLists(str(root), disk=used), disk=used)


def lists(folder: Path) -> list[Path]:
    """The lists that the state root keeps of its folders."""
    return sorted((folder.parents[2] / "state" / "mounts").glob("*.json"))


def tree(top: Path) -> dict[str, bytes | None]:
    """Everything in a folder."""
    return {
        path.relative_to(top).as_posix(): path.read_bytes() if path.is_file() else None
        for path in top.rglob("*")
    }


def body(folder: Path, name: str = "pdf") -> str:
    return read_skill((folder / name / "SKILL.md").read_text("utf-8"), folder=name).document.body
