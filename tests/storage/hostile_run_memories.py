"""Run memories where the system says no: a full disk, missing permissions, a process that dies.

    python -m tests.storage.hostile_run_memories full|locked|die FOLDER

prints what happened as JSON. Each changes something of the process's own, so it has to be one.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from runlore.domain.errors import RunloreError
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.run import RunId
from runlore.ports.run_memories import Unreadable
from runlore.storage.run_memories import FileRunMemories
from tests.storage.run_memory_values import memory


def full(root: Path) -> None:
    """Fill a small disk, see what is kept, make room, and go on."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(root)], check=True)
    memories = FileRunMemories(str(root / "run-memories"))
    kept: list[str] = []
    while (code := _code(memories, f"run_{len(kept):05}")) == "written":
        kept.append(f"run_{len(kept):05}")
    before = memory(kept[0])
    again = _code(memories, kept[0], summary="y" * 480)
    found = list(memories.everything())
    story = {
        "code": code,
        "again": again,
        "kept": len(kept),
        "whole": all(isinstance(one, RunMemory) for one in found) and len(found) == len(kept),
        "unchanged": memories.get(RunId(kept[0])) == before,
    }
    for name in kept[:10]:
        memories.delete(RunId(name))
    print(json.dumps(story | {"after": _code(memories, "run_x")}))


def locked(root: Path) -> None:
    """A file, and then the folder, that this user may not read."""
    memories = FileRunMemories(str(root / "run-memories"))
    memories.put(memory("run_1"))
    memories.put(memory("run_2"))
    folder = root / "run-memories"
    (folder / "run_1.json").chmod(0)
    found = memories.get(RunId("run_1"))
    story: dict[str, object] = {
        "file": found.problem if isinstance(found, Unreadable) else "read",
        "others": [type(one).__name__ for one in memories.everything()],
    }
    folder.chmod(0)
    for name, act in (
        ("get", lambda: memories.get(RunId("run_2"))),
        ("everything", lambda: list(memories.everything())),
        ("delete", lambda: memories.delete(RunId("run_2"))),
    ):
        try:
            act()
        except RunloreError as error:
            story[name] = error.code
    folder.chmod(0o700)
    memories.discard(found) if isinstance(found, Unreadable) else None
    print(json.dumps(story | {"left": sorted(os.listdir(folder))}))


def die(root: Path) -> None:
    """Die between the write and the move into its place."""
    memories = FileRunMemories(str(root / "run-memories"))
    memories.put(memory("run_1"))

    def hook(event: str, _arguments: object) -> None:
        if event == "os.rename":
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    memories.put(memory("run_1", summary="never finished"))


def _code(memories: FileRunMemories, run_id: str, **fields: object) -> str:
    try:
        memories.put(memory(run_id, **fields))
    except RunloreError as error:
        return error.code
    return "written"


if __name__ == "__main__":
    {"full": full, "locked": locked, "die": die}[sys.argv[1]](Path(sys.argv[2]))
