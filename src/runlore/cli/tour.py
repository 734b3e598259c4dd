"""A short guided tour on a scratch state root: `python -m runlore.cli.tour`.

It runs the real commands in processes of their own, shows what they print, and leaves nothing behind.
On a terminal it waits for Enter between the steps.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass

# What a shell reads as one line with the next.
_GOES_ON = " \\"
_ID = re.compile(r"rec_[0-9a-z]{26}")


@dataclass(frozen=True, kw_only=True)
class TourStep:
    """One command. FIRST and SECOND stand for the ids that the two proposals were given."""

    says: str
    command: tuple[str, ...]


STEPS = (
    TourStep(
        says="Nothing is remembered because a model said it. A proposal is a candidate first.",
        command=(
            "memory",
            "profile",
            "propose",
            "--key",
            "editor",
            "--value",
            "vim",
            "--reason",
            "said on day one",
        ),
    ),
    TourStep(
        says="It waits, and the inbox shows what confirming it would do.",
        command=("memory", "review", "list"),
    ),
    TourStep(says="You confirm it: now it is active.", command=("memory", "review", "confirm", "FIRST")),
    TourStep(
        says="Minds change. The new value is a proposal too.",
        command=(
            "memory",
            "profile",
            "propose",
            "--key",
            "editor",
            "--value",
            "helix",
            "--reason",
            "switched in May",
        ),
    ),
    TourStep(
        says="The inbox puts what is active beside what would replace it.",
        command=("memory", "review", "list"),
    ),
    TourStep(
        says="Confirming supersedes the old record in the same transaction.",
        command=("memory", "review", "confirm", "SECOND"),
    ),
    TourStep(
        says="Search ranks by words, rarest first, and shows what the score is made of.",
        command=("memory", "search", "which editor"),
    ),
    TourStep(
        says="It was a mistake. Rolling back keeps the history, and --restore brings the old value back.",
        command=("memory", "rollback", "SECOND", "--restore", "--reason", "back to vim"),
    ),
    TourStep(says="Every move is an event. Nothing was overwritten.", command=("memory", "history", "FIRST")),
    TourStep(says="That is all there is in the store.", command=("status",)),
)


def main() -> None:
    waits = sys.stdin.isatty() and sys.stdout.isatty()
    with tempfile.TemporaryDirectory(prefix="runlore-tour-") as scratch:
        print("Runlore: reviewed memory and earned skills for AI agents. A tour in ten steps.\n")
        ids: list[str] = []
        columns = shutil.get_terminal_size().columns
        for number, step in enumerate(STEPS, start=1):
            print(textwrap.fill(f"{number}. {step.says}", columns) + "\n")
            code = _run(step, scratch, ids)
            if code:
                sys.exit(code)
            if waits and number < len(STEPS):
                try:
                    input("   Enter to go on ")
                except (KeyboardInterrupt, EOFError):
                    print("\nThe tour ends here; its state root is gone again.")
                    return
    print("\nThe tour's state root is gone again. Your own starts with your first command:")
    proposal = ("memory profile propose", "--key editor", "--value vim", '--reason "I said so"')
    print(command_lines(["  .venv/bin/runlore", *proposal], columns))


def command_lines(words: list[str], columns: int) -> str:
    """A command that fits, as far as its words do, and can be copied as it stands."""
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + len(" " + _GOES_ON) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}")
    return f"{_GOES_ON}\n".join(lines)


def _run(step: TourStep, scratch: str, ids: list[str]) -> int:
    names = dict(zip(("FIRST", "SECOND"), ids, strict=False))
    arguments = [names.get(word, word) for word in step.command]
    words = ["$ runlore", *(f'"{word}"' if " " in word else word for word in arguments)]
    print(command_lines(words, shutil.get_terminal_size().columns), flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "runlore", *arguments],
        # Its output is read here, and shown where this is: it has to fit there.
        env={
            **os.environ,
            "RUNLORE_HOME": scratch,
            "RUNLORE_DATABASE_URL": "",
            "COLUMNS": str(shutil.get_terminal_size().columns),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    if "propose" in step.command:
        ids.extend(_ID.findall(done.stdout)[:1])
    return done.returncode


if __name__ == "__main__":
    main()
