"""Small transcripts of made-up work, written as agents write theirs."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

# A command, what it printed, and its exit code.
Call: TypeAlias = tuple[str, str, int]
# What the user said, and what the agent did about it.
Turn: TypeAlias = tuple[str, Sequence[Call]]

BEGAN_AT = datetime(2026, 10, 1, 8, 0, tzinfo=UTC)
RELEASE: Sequence[Call] = (
    ("make build VERSION=1.{number}.0", "built", 0),
    ("make check", "all checks passed", 0),
    ("git tag v1.{number}.0", "", 0),
    ("make publish VERSION=1.{number}.0", "published", 0),
)


def releases(folder: Path, count: int = 3) -> list[Path]:
    """Sessions in each of which the same procedure is done with other values: worth a skill."""
    return [
        write_session(
            folder,
            f"release-{number}",
            [
                (
                    f"Release version 1.{number}.0",
                    [(command.format(number=number), output, code) for command, output, code in RELEASE],
                )
            ],
            began_at=BEGAN_AT + timedelta(days=number),
        )
        for number in range(count)
    ]


def write_session(
    folder: Path,
    session: str,
    turns: Sequence[Turn],
    *,
    began_at: datetime = BEGAN_AT,
    cwd: str = "/srv/atlas",
) -> Path:
    """A session of Claude Code, which nobody has written to for a long time."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    path.write_text("".join(session_lines(session, turns, began_at=began_at, cwd=cwd)), encoding="utf-8")
    settle(path)
    return path


def add_turns(path: Path, turns: Sequence[Turn], *, first: int = 100) -> int:
    """Let a session go on; how many bytes that is."""
    before = path.stat().st_size
    with path.open("a", encoding="utf-8") as file:
        file.writelines(session_lines(path.stem, turns, first=first))
    settle(path)
    return path.stat().st_size - before


def settle(path: Path) -> None:
    """Let a file be old enough to be whole."""
    old = datetime(2026, 10, 10, tzinfo=UTC).timestamp()
    os.utime(path, (old, old))


def session_lines(
    session: str,
    turns: Sequence[Turn],
    *,
    began_at: datetime = BEGAN_AT,
    cwd: str = "/srv/atlas",
    first: int = 1,
) -> list[str]:
    """The lines of a session."""
    lines: list[str] = []

    def line(kind: str, content: Any) -> None:
        number = first + len(lines)
        told = {
            "type": kind,
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "timestamp": (began_at + timedelta(seconds=number)).isoformat().replace("+00:00", "Z"),
            "cwd": cwd,
            "version": "2.1.0",
            "isSidechain": False,
            "message": {"role": kind, "id": f"{session}-message-{number}", "content": content},
        }
        lines.append(json.dumps(told) + "\n")

    for request, calls in turns:
        line("user", request)
        for command, output, code in calls:
            call_id = f"{session}-call-{first + len(lines)}"
            use = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
            line("assistant", [use])
            text = f"Exit code {code}\n{output}" if code else output
            result = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": code != 0}
            line("user", [result])
        line("assistant", [{"type": "text", "text": "Done."}])
    return lines
