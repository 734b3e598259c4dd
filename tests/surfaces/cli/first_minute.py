"""The first minute as it is recorded: a machine with a few sessions, what is typed, and what stands on the
screen. `python -m tests.surfaces.cli.first_minute` writes the recordings again."""

import os
import re
import tempfile
from datetime import timedelta
from pathlib import Path

from tests.surfaces.at_terminal import Seen, at_terminal
from tests.surfaces.command_line import Runlore
from tests.surfaces.transcripts import BEGAN_AT, releases, write_session

FOLDER = Path(__file__).parent / "recordings"
WIDTHS = (80, 120)
# Yes to storing and review; in the inbox yes to the sentence and to the skill, whose procedure is not asked
# about again, and the end. Mounting and connecting are looked at first.
KEYS = ("y\n", "y\n", "y", "y", "q", "?\n", "y\n", "?\n", "y\n")
_ID = re.compile(r"\b(rec|skl)_[0-9a-z]{26}\b")
# What is another on each machine: where Python and the hook are, and whether an agent's program is there.
_MADE = re.compile(r"(?m)^.*\.venv/bin/python.*\n|^\+.*hook\.py.*\n|^There is no program .*\n")
RULE = "Always run make check before you push to main."


def fill(home: Path) -> None:
    """Sessions of Claude Code: a procedure that repeats, and a sentence that lasts."""
    folder = home / ".claude" / "projects" / "-srv-atlas"
    releases(folder)
    calls = [("make check", "all checks passed", 0), ("git push origin main", "", 0)]
    write_session(folder, "push", [(f"Push it. {RULE}", calls)], began_at=BEGAN_AT + timedelta(days=9))


def play(lore: Runlore, home: Path, columns: int) -> Seen:
    """All of it, at a terminal of this width; what differs from machine to machine is told alike."""
    seen = at_terminal(lore, "init", answers=KEYS, columns=columns)
    text = (
        seen.text.replace(str(lore.home), "~/.runlore")
        .replace(str(home), "~")
        .replace("~/runlore", "~/.runlore")
    )
    return Seen(text=_ID.sub(lambda id_: f"{id_[1]}_{'0' * 26}", _MADE.sub("", text)), code=seen.code)


def recording(columns: int) -> Path:
    return FOLDER / f"first-minute-{columns}.txt"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for columns in WIDTHS:
        with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as folder:
            home, lore = Path(folder), Runlore(Path(folder) / "runlore")
            os.environ.update(HOME=folder, RUNLORE_PORT="0", **lore.environment)
            fill(home)
            try:
                recording(columns).write_text(play(lore, home, columns).text, encoding="utf-8")
            finally:
                lore.run("down")


if __name__ == "__main__":
    main()
