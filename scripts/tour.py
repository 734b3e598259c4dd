"""A short guided tour on a scratch state root: `python -m scripts.tour`.

It runs the real commands in processes of their own on a few made-up sessions, shows what they print, and
leaves nothing behind. On a terminal it waits for Enter between the steps.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass

# What a shell reads as one line with the next.
_GOES_ON = " \\"
_SESSIONS = 3


@dataclass(frozen=True, kw_only=True)
class TourStep:
    """One command, and what to look at."""

    says: str
    command: tuple[str, ...]


STEPS = (
    TourStep(
        says="Your agents leave sessions behind. Here are three in which the same work was done. This reads"
        " them and stores nothing.",
        command=("learn", "sessions", "--dry-run"),
    ),
    TourStep(
        says="Without --dry-run what they teach is stored, and waits for you.", command=("learn", "sessions")
    ),
    TourStep(says="You keep what repeats as a skill.", command=("skill", "save", "release-version")),
    TourStep(
        says="It is put where your agents look for skills; --dry-run only says where.",
        command=("skill", "mount", "--user", "--dry-run"),
    ),
    TourStep(
        says="What you said that lasts waits too: nothing is remembered because a model said it.",
        command=("inbox", "--list"),
    ),
    TourStep(says="You confirm it: from now on it is in use.", command=("memory", "review", "confirm", "@1")),
    TourStep(
        says="It is found by its words, and agents get it with the prompts that it bears on.",
        command=("search", "what to run before a release"),
    ),
    TourStep(says="The rest is one command away.", command=("status",)),
)


def write_sessions(folder: str) -> None:
    """Three sessions as JSON lines; in the last one the user says something that lasts."""
    os.makedirs(folder)
    before = time.time() - 2 * 3600
    for number in range(1, _SESSIONS + 1):
        rule = " Always run make check before you tag a release." if number == _SESSIONS else ""
        lines: list[object] = [{"role": "user", "content": f"Release version 1.{number}.0.{rule}"}]
        for place, command in enumerate(
            (f"make build VERSION=1.{number}.0", "make check", f"git tag v1.{number}.0")
        ):
            call = {"id": str(place), "name": "bash", "arguments": {"command": command}}
            lines.append({"role": "assistant", "tool_calls": [call]})
            lines.append({"role": "tool", "tool_call_id": str(place), "content": "done", "exit_code": 0})
        lines.append({"role": "assistant", "content": "Released."})
        with open(os.path.join(folder, f"day-{number}.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)
        # A session that was written to just now may still go on.
        os.utime(file.name, (before, before))


def main() -> None:
    waits = sys.stdin.isatty() and sys.stdout.isatty()
    with tempfile.TemporaryDirectory(prefix="runlore-tour-") as scratch:
        write_sessions(os.path.join(scratch, "sessions"))
        _say(f"Runlore: reviewed memory and earned skills for AI agents. A tour in {len(STEPS)} steps.\n")
        for number, step in enumerate(STEPS, start=1):
            _say(f"{number}. {step.says}\n")
            code = _run(step, scratch)
            if code:
                sys.exit(code)
            if waits and number < len(STEPS):
                try:
                    input("   Enter to go on ")
                except (KeyboardInterrupt, EOFError):
                    _say("\nThe tour ends here; its state root is gone again.")
                    return
    _say("\nThe tour's state root is gone again. With your own sessions it takes a minute:")
    print("  .venv/bin/runlore init")


def _say(text: str) -> None:
    """Print a text that fits, without a broken word; the lines around it stay empty."""
    columns = shutil.get_terminal_size().columns
    print("\n".join(textwrap.fill(line, columns, break_long_words=False) for line in text.split("\n")))


def command_lines(words: list[str], columns: int) -> str:
    """A command that fits, as far as its words do, and can be copied as it stands."""
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + len(" " + _GOES_ON) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}")
    return f"{_GOES_ON}\n".join(lines)


def _run(step: TourStep, scratch: str) -> int:
    words = ["$ runlore", *(f'"{word}"' if " " in word else word for word in step.command)]
    print(command_lines(words, shutil.get_terminal_size().columns), flush=True)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "runlore", *step.command],
        cwd=scratch,
        # Its output is read here, and shown where this is: it has to fit there.
        env={
            **os.environ,
            "RUNLORE_HOME": os.path.join(scratch, "runlore"),
            "RUNLORE_DATABASE_URL": "",
            "RUNLORE_URL": "",
            "COLUMNS": str(shutil.get_terminal_size().columns),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    return done.returncode


if __name__ == "__main__":
    main()
