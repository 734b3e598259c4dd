"""A Runlore on a small disk, in a process with a view of the file system of its own.

    unshare --mount python -m tests.stories.full_disk FOLDER

mounts 64 MiB on the folder, works until the disk is full, and prints what happened as JSON. Nobody else sees
the mount, and it is gone with the process.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from runlore.cli.background import end_daemon, start_detached
from runlore.client.connect import open_operations
from runlore.config.server import ServerSettings
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.process.logs import log_path
from runlore.daemon.process.server import Health
from runlore.daemon.process.tokens import operator_secret
from runlore.daemon.wiring import open_parts
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.errors import RunloreError
from runlore.domain.record import Kind, Record, State
from runlore.domain.records.radar import Finding
from runlore.ports import operations as ops
from tests.world import decision, files_with, inconsistencies, outcome

DISK = "64m"
# New writes are refused while less than the store's reserve is left; so much above it makes a short story.
LEFT_BYTES = 16 * 1024**2 + 16 * 1024**2
SECRET_WORD = "xylophonist"


class Story:
    """What happens on the disk, step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = Settings(state_root=str(folder / "home"), server=ServerSettings(tcp=False))
        self.kept: dict[str, Record] = {}
        self.told: dict[str, object] = {}
        self.open()

    def open(self) -> None:
        """A new start."""
        self.operations = Application(open_parts(self.settings), LOCAL_OPERATOR)

    def close(self) -> None:
        """The end of a process."""
        self.operations.parts.close()

    def run(self) -> dict[str, object]:
        """Fill the disk in two ways, and make room again."""
        self._begin()
        self._write_until_refused()
        self._fill_to_the_last_byte()
        self._start_on_a_full_disk()
        self._make_room()
        self._fail_in_the_midst_of_a_write()
        return self.told

    def _begin(self) -> None:
        self.forgettable = self._propose("orchestra", SECRET_WORD)
        self.waiting = self._propose("editor", "vim")
        operator_secret(self.operations.parts)
        self.active = self.operations.confirm(decision(self._propose("shell", "zsh")))
        self.kept[self.active.record_id] = self.active
        _fill(self.folder / "filler", leave=LEFT_BYTES)

    def _write_until_refused(self) -> None:
        """The store refuses in time, and goes on reading."""
        number, code = 0, "done"
        while code == "done":
            number += 1
            code = outcome(partial(self._propose, f"key {number}", "word " * 200))
        self.told["refused in time"] = {
            "kept": len(self.kept),
            "propose": code,
            "episode": outcome(lambda: self.operations.add_episode(_episode())),
            "confirm": outcome(lambda: self.operations.confirm(decision(self.waiting))),
            "reads": self._reads(),
            "readiness": self._readiness(),
        }

    def _fill_to_the_last_byte(self) -> None:
        """Somebody else takes what is left: forgetting and taking back still work."""
        _fill(self.folder / "more", leave=0)
        self.told["full"] = {
            "propose": outcome(lambda: self._propose("theme", "dark")),
            "export": outcome(self.operations.export),
            "partial exports": len(list((self.folder / "home" / "exports").glob(".partial-*"))),
            "reads": self._reads(),
            "forget": outcome(lambda: self.operations.forget(decision(self.forgettable))),
            "rollback": self._code_and_keep(lambda: self.operations.rollback(decision(self.active)).record),
            "told with a reserve": self._hint(),
            "traces": [Path(path).name for path in files_with(self.folder / "home", SECRET_WORD)],
        }
        del self.kept[self.forgettable.record_id]
        _fill(self.folder / "reserve", leave=0)
        self.told["used up"] = {"told": self._hint(), "reads": self._reads()}

    def _start_on_a_full_disk(self) -> None:
        """Without a byte no daemon starts, and with the reserve it reads; neither says more than it does."""
        self.close()
        _fill(self.folder / "reserve", leave=0)
        log = log_path(self.settings.state_root)
        with pytest.raises(RunloreError) as nothing:
            start_detached(self.settings, log)
        (self.folder / "reserve").unlink()
        lacks = start_detached(self.settings, log)
        with open_operations(self.settings) as daemon:
            refused = outcome(lambda: daemon.add_episode(_episode()))
        self.told["a daemon"] = {
            "without a byte": (nothing.value.code, "start it again" in nothing.value.hint),
            "with little": lacks.partition("[")[2],
            "ended": end_daemon(self.settings.state_root, wait_s=30) is not None,
            "a write": (refused, f'"code": "{refused}"' in Path(log).read_text()),
        }
        self.open()
        self.told["started while full"] = {
            "propose": outcome(lambda: self._propose("theme", "dark")),
            "reads": self._reads(),
        }

    def _make_room(self) -> None:
        (self.folder / "filler").unlink()
        (self.folder / "more").unlink()
        self.told["room again"] = {
            "propose": outcome(lambda: self._propose("theme", "dark")),
            "readiness": self._readiness(),
        }
        self.close()
        self.open()
        self.told["started with room"] = {
            "propose": outcome(lambda: self._propose("tabs", "four")),
            "export": outcome(self.operations.export),
            "reads": self._reads(),
            "inconsistencies": inconsistencies(self.settings),
        }

    def _fail_in_the_midst_of_a_write(self) -> None:
        """The system refuses a write of the database itself: who knows what is on the disk? It stops."""
        findings = tuple(_finding(number) for number in range(1_000))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        log = (self.folder / "home" / "runlore.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (log + 100_000, hard))
        failed = outcome(lambda: self.operations.radar_add(ops.Findings(findings=findings)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        self.told["failed"] = {
            "radar": failed,
            "afterwards": outcome(lambda: self._propose("pager", "less")),
            "reads": self._reads(),
        }
        self.close()
        self.open()
        self.told["started after that"] = {
            "propose": outcome(lambda: self._propose("pager", "less")),
            "reads": self._reads(),
            "findings": len(self.operations.radar_log().waiting),
            "inconsistencies": inconsistencies(self.settings),
        }
        self.close()

    def _reads(self) -> str:
        """Everything that was acknowledged is there, by every way of reading."""
        try:
            for record_id, record in self.kept.items():
                assert self.operations.get_record(record.record_id) == record, record_id
            waiting = ops.Filters(states=frozenset(State))
            assert self.operations.list_records(ops.ListRequest(filters=waiting)).items
            assert self.operations.search(ops.SearchRequest(query="editor vim", include_stale=True)).items
            assert self.operations.review_list(ops.ReviewRequest()).items
            return str(self.operations.status().store["writes"]).partition(":")[0]
        except RunloreError as error:
            return error.code

    def _hint(self) -> str:
        """What is said to whoever wants to write, at two places that must agree."""
        refusal = self.operations.parts.store.refusal()
        assert refusal is not None
        with pytest.raises(RunloreError) as refused:
            self._propose("theme", "dark")
        assert refused.value.hint == refusal.hint
        return "reserve" if "reserve" in refusal.hint else "reads" if "reads go on" in refusal.hint else ""

    def _readiness(self) -> str:
        health = Health(self.operations.parts)
        health.ready()
        return "".join(reason.partition("[")[2].rstrip("]") for reason in health.reasons())

    def _propose(self, key: str, value: str) -> Record:
        proposal = ops.ProfileProposal(key=key, value=value, reason="said so")
        record = self.operations.propose_profile(proposal)
        self.kept[record.record_id] = record
        return record

    def _code_and_keep(self, act: Callable[[], Record]) -> str:
        def keep() -> None:
            record = act()
            self.kept[record.record_id] = record

        return outcome(keep)


def main(folder: str) -> None:
    """Mount, and tell the story."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], check=True)
    story = Story(Path(folder))
    try:
        print(json.dumps(story.run()))
    finally:
        # Nobody else ends a daemon that a story which goes wrong has left.
        end_daemon(story.settings.state_root, wait_s=30)


def _episode() -> ops.Episode:
    return ops.Episode(kind=Kind.EXPERIMENT, summary="It went well")


def _finding(number: int) -> Finding:
    return Finding(
        summary=f"Tool {number} is fast",
        repo_slug=f"acme/{number}",
        source_handle="acme",
        source_url=f"https://example.org/{number}",
    )


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
    main(sys.argv[1])
