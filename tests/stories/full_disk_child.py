"""Child agents whose disk fills up, in a process with a view of the file system of its own.

    unshare --mount python -m tests.stories.full_disk_child FOLDER

mounts two small disks below the folder, one for the project and one for the state root, fills them while
children work, and prints what happened as JSON.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from runlore.config.settings import Settings
from runlore.domain.run import RunId
from tests.flow.child_scene import MARKER, Scene, answers, repository, scene, then
from tests.model_server import calls, says
from tests.world import outcome

PROJECT_DISK, STATE_DISK = "16m", "96m"
BIG = 32 * 1024**2


def main() -> None:
    """Tell the whole story."""
    folder = Path(sys.argv[1])
    work, state = folder / "work", folder / "state"
    for disk, size in ((work, PROJECT_DISK), (state, STATE_DISK)):
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=True)
    with scene(Settings(state_root=str(state / "home")), repository(work / "project")) as made:
        made.promoted()
        told = {
            "full project": _project_filled(made),
            "no room for a copy": _no_room(made, work),
            "full state root": _state_filled(made, state),
            "room again": made.trial().run.status,
        }
    print(json.dumps(told))


def _project_filled(made: Scene) -> dict[str, object]:
    """A command of the child takes all that is left: it is told so, and the copy goes all the same."""
    made.cast.child = [calls("shell", {"command": f"head -c {BIG} /dev/zero > big"}), says(MARKER)]
    run = made.trial().run
    told = answers(made.cast.heard["child"][-1])[0].output
    return {"status": run.status, "told": "No space left" in told, "clean": made.is_clean()}


def _no_room(made: Scene, work: Path) -> dict[str, object]:
    """Where not even a copy fits, nothing is begun."""
    (made.project / "large").write_bytes(os.urandom(3 * 1024**2))
    subprocess.run(["git", "add", "large"], cwd=made.project, check=True)
    named = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", *named, "commit", "-q", "-m", "large"], cwd=made.project, check=True)
    _fill(work / "filler", leave=2 * 1024**2)
    made.session()
    runs = len(made.world.tables()["runs"])
    code = outcome(made.trial)
    (work / "filler").unlink()
    return {"code": code, "runs": len(made.world.tables()["runs"]) - runs, "clean": made.is_clean()}


def _state_filled(made: Scene, state: Path) -> dict[str, object]:
    """What a child does cannot be written down any more: it does no more, and ends when there is room."""
    filler = state / "filler"
    made.cast.child = [
        calls("scratch", {"text": "a first step"}),
        then(lambda _: _fill(filler, leave=0)),
        says("It must not come to this."),
    ]
    run_id = RunId(made.trial().run.run_id)
    open_status = made.world.operator.get_run(run_id).run.status
    clean = made.is_clean()
    filler.unlink()
    made.world.parts.agent.settle()
    made.cast.child = [says(MARKER)]
    run = made.world.operator.get_run(run_id).run
    return {"while full": open_status, "then": run.status, "reason": run.reason, "clean": clean}


def _fill(filler: Path, *, leave: int) -> None:
    """Take all but so much of what is left of the disk."""
    file = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for size in (2**20, 4_096, 1):
        try:
            while _left(filler) > leave:
                os.write(file, bytes(size))
        except OSError:
            continue
    os.close(file)


def _left(path: Path) -> int:
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


if __name__ == "__main__":
    main()
