"""Power cuts: a file system of our own that forgets at once all that was not synced.

    unshare --mount python -m tests.proof.power_cuts FOLDER CUTS SEED

makes an ext4 image in the folder and mounts it. A worker works on it, and tells what it was answered. At some
moment the file system is shut down as it is, without writing what it still holds in memory; it is mounted
anew, and what is there is held against what was answered before that: a call that is under way while the
kernel shuts it down may be told that it was synced. Prints what happened as JSON. Nobody else sees the mount,
and it is gone with the process.
"""

import fcntl
import json
import os
import random
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from runlore.client.connect import open_operations
from runlore.config.settings import Settings
from tests.proof.aftermath import check, describe
from tests.proof.tracing import Script
from tests.proof.workload import perform
from tests.stories.ledger import Ledger
from tests.stories.workers import Workers, listen, running_workers, wait_busily

IMAGE_BYTES = 160 * 1024**2
# `EXT4_IOC_SHUTDOWN`, with "neither data nor the journal are flushed".
SHUTDOWN, NO_FLUSH = 0x8004587D, 2
ANSWERS_MAX = 40
# An act takes a few milliseconds: the cut comes early in it, late in it, or after it.
DELAY_S_MAX = 0.008


class Disk:
    """An ext4 file system in a file."""

    def __init__(self, folder: Path) -> None:
        self._image = folder / "image"
        self.path = folder / "disk"
        self.path.mkdir()
        with open(self._image, "wb") as image:
            image.truncate(IMAGE_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._image)], check=True)
        self.mount()

    def mount(self) -> None:
        """What a start of the machine does: the journal is read, and what it does not hold is gone."""
        subprocess.run(["mount", "-o", "loop", str(self._image), str(self.path)], check=True)

    def unmount(self) -> None:
        """Let go of it."""
        subprocess.run(["umount", str(self.path)], check=True)

    def cut(self) -> None:
        """No byte goes to the disk any more, and none that is in memory."""
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", NO_FLUSH))
        finally:
            os.close(folder)


def main(folder: str, cuts: int, seed: int) -> None:
    """Cut again and again: a worker on records, and the script that leaves files as well."""
    chance = random.Random(seed)
    with _disk(Path(folder)) as disk, running_workers() as workers:
        undisturbed = _undisturbed(Path(folder) / "undisturbed")
        ledger, acknowledged = Ledger(), 0
        for number in range(1, cuts + 1):
            _cut_a_worker(disk, workers, ledger, chance, number)
            acknowledged += _cut_the_script(disk, chance, undisturbed, number)
        print(json.dumps({"worker": sum(ledger.acts.values()), "script": acknowledged}))


def _cut_a_worker(disk: Disk, workers: Workers, ledger: Ledger, chance: random.Random, number: int) -> None:
    settings = Settings(state_root=str(disk.path / "home"))
    process = workers.start(settings, number)
    listen(workers, ledger, answers=chance.randint(1, ANSWERS_MAX))
    wait_busily(chance.uniform(0, DELAY_S_MAX))
    for line in workers.say_until_now():
        ledger.note(line)
    disk.cut()
    # A worker that is told so by the disk ends by itself.
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    _forget_answers(workers, ledger)
    disk.unmount()
    disk.mount()
    ledger.check(settings)


def _forget_answers(workers: Workers, ledger: Ledger) -> None:
    """What the worker says behind the cut nobody would have heard: what it begins may be done or not."""
    while "ended" not in (line := workers.say()):
        if "begin" in line:
            ledger.note(line)
    ledger.note_the_end()


def _cut_the_script(disk: Disk, chance: random.Random, undisturbed: dict[str, object], number: int) -> int:
    root = disk.path / f"home-{number}"
    answers = chance.randint(1, 19)
    with closing(Script(root)) as script:
        script.begin()
        said = script.listen(answers)
        wait_busily(chance.uniform(0, DELAY_S_MAX))
        said |= script.listen_until_now()
        disk.cut()
        script.process.kill()
        script.listen_to_the_end()
        script.process.wait()
    disk.unmount()
    disk.mount()
    check(root, said, undisturbed)
    subprocess.run(["rm", "-rf", str(root)], check=True)
    return len(said)


def _undisturbed(root: Path) -> dict[str, object]:
    with open_operations(Settings(state_root=str(root))) as operations:
        assert dict(perform(operations, {}))
        return describe(operations, root)


@contextmanager
def _disk(folder: Path) -> Iterator[Disk]:
    disk = Disk(folder)
    try:
        yield disk
    finally:
        disk.unmount()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
