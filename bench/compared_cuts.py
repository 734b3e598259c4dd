"""Power cuts for every memory: `unshare --mount python -m bench.compared_cuts FOLDER CORPUS CUTS NAME...`.

Each writes on a small file system of its own that forgets at some moment all that was not synced, as in the
ring of tests (`tests.proof.power_cuts`). Run by `bench.compared`; prints for each memory and cut how many
texts were told to be kept before it, and how many of these are gone.
"""

import json
import random
import sys
import time
from pathlib import Path

from bench.compared import compare_with_answers, numbers_of, read_answers, writing
from tests.proof.power_cuts import Disk

SEED = 20261119
DELAY_S_MAX = 0.02


def cut_power(name: str, folder: Path, corpus: Path, chance: random.Random) -> tuple[int, int]:
    """What one cut takes; what is told while the kernel shuts the disk down nobody has heard."""
    folder.mkdir()
    disk = Disk(folder)
    try:
        place = disk.path / "memory"
        with writing(name, place, corpus) as writer:
            told = read_answers(writer, chance.randint(30, 60))
            time.sleep(chance.uniform(0, DELAY_S_MAX))
            disk.cut()
            writer.kill()
        disk.unmount()
        disk.mount()
        return compare_with_answers(name, place, corpus, numbers_of(told))
    finally:
        disk.unmount()


def cut_all() -> None:
    """All memories in turn."""
    folder, corpus, cuts, *names = sys.argv[1:]
    chance = random.Random(SEED)
    found = {
        name: [
            cut_power(name, Path(folder) / f"{name}-cut-{number}", Path(corpus), chance)
            for number in range(int(cuts))
        ]
        for name in names
    }
    print(json.dumps(found))


if __name__ == "__main__":
    cut_all()
