"""Failures of many trades and what put them right: which are suggested, met once and met in two sessions.

The real sessions are of people who write Go at one company. `learning_failures.txt` has failures of others:
Python, JavaScript, Rust, Java, machines and clusters, what the next agent would stumble over again and what
is of the moment. Each is written as a session of Claude Code (and as two, a day apart), and learned from by
itself. A part, by a digest of the name, was set aside before any rule was changed for them.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measure import print_table
from runlore.daemon.mining.dry_run import look_through
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.suggestion import Suggestion

TEXTS = Path(__file__).with_suffix(".txt")


@dataclass(frozen=True, kw_only=True)
class Episode:
    """A failure and what came behind it. Lines begin with `$` (a call), `!` (its output) or `>` (an edit)."""

    name: str
    is_worth: bool
    lines: tuple[str, ...]

    @property
    def is_aside(self) -> bool:
        """Whether it was set aside."""
        return bool(hashlib.sha256(f"runlore-failures-1 {self.name}".encode()).digest()[0] & 1)


def main() -> None:
    """Print how many are suggested."""
    episodes = read_episodes(TEXTS)
    rows = []
    for title, is_aside in (("looked at", False), ("set aside", True)):
        for is_worth in (True, False):
            those = [one for one in episodes if (one.is_aside, one.is_worth) == (is_aside, is_worth)]
            once, twice = ([one for one in those if suggested(one, sessions=n)] for n in (1, 2))
            label = "would be met again" if is_worth else "of the moment"
            rows.append((title, label, len(those), len(once), len(twice)))
            if not is_aside:
                odd = [one.name for one in those if (one in twice) is not is_worth]
                print(f"{label}, {'not ' if is_worth else ''}suggested: {', '.join(odd)}")
                if is_worth:
                    print(f"  from two sessions alone: {', '.join(o.name for o in twice if o not in once)}")
    print()
    print_table(("failures", "", "all", "suggested from one session", "from two"), rows)


def read_episodes(path: Path) -> list[Episode]:
    """The failures of a file, in its order."""
    found = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        head, *lines = [line for line in block.splitlines() if line and not line.startswith("#")] or [""]
        label, _, name = head.partition(" ")
        if name:
            found.append(Episode(name=name, is_worth=label == "keep", lines=tuple(lines)))
    return found


def suggested(episode: Episode, *, sessions: int) -> tuple[Suggestion, ...]:
    """What so many sessions with it come to."""
    with tempfile.TemporaryDirectory() as folder:
        for day in range(1, sessions + 1):
            text = "".join(
                f"{json.dumps(line)}\n" for line in _transcript(episode, f"{episode.name}-{day}", day)
            )
            Path(folder, f"{episode.name}-{day}.jsonl").write_text(text, encoding="utf-8")
        return look_through([*local_transcripts().find([folder])], workers=1).suggestions


def _transcript(episode: Episode, session: str, day: int) -> Iterator[dict[str, object]]:
    number = 0

    def line(kind: str, content: object) -> dict[str, object]:
        nonlocal number
        number += 1
        at = f"2026-03-{day:02d}T09:{number // 60:02d}:{number % 60:02d}.000Z"
        place = {"sessionId": session, "cwd": "/srv/shop", "timestamp": at, "uuid": f"{session}-{number}"}
        return {"type": kind, **place, "message": {"role": kind, "content": content}}

    yield line("user", f"Please go on with part {day}.")
    calls: list[tuple[str, dict[str, str], list[str]]] = []
    for text in episode.lines:
        mark, told = text[0], text[2:]
        if mark == "!":
            calls[-1][2].append(told)
        elif mark == ">":
            edit = {"file_path": f"/srv/shop/{told}", "old_string": f"a{day}", "new_string": f"b{day}"}
            calls.append(("Edit", edit, []))
        else:
            calls.append(("Bash", {"command": told}, []))
    for tool, arguments, printed in calls:
        call = f"toolu_{session}_{number}"
        yield line("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": arguments}])
        output = "\n".join(["Exit code 1", *printed]) if printed else "done"
        result = {"type": "tool_result", "tool_use_id": call, "is_error": bool(printed), "content": output}
        yield line("user", [result])
    yield line("assistant", [{"type": "text", "text": "Done."}])
    yield line("user", "Thanks, that is all.")
    yield line("assistant", [{"type": "text", "text": "You are welcome."}])
