"""Sessions written as plain JSONL of OpenAI messages, and what a dry run over them suggests. Those of which
the folder is to be known are written as Claude Code does.

A call is its command; with `!` in front it failed, with `?` its exit code is not told, and behind ` # `
stands what it printed.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from runlore.daemon.mining.dry_run import look_through
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.suggestion import Suggestion
from tests.fakes import START


def told(said: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A transcript of OpenAI messages: inputs, each with the calls that followed it."""
    lines: list[dict[str, object]] = []
    for request, calls in said:
        lines.append({"role": "user", "content": request})
        for call in calls:
            command, _, output = call.lstrip("!?").partition(" # ")
            name = f"c{len(lines)}"
            arguments = json.dumps({"command": command})
            function = {"name": "shell", "arguments": arguments}
            lines.append(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": name, "type": "function", "function": function}],
                }
            )
            result = {"role": "tool", "tool_call_id": name, "content": output or "done"}
            known = {} if call.startswith("?") else {"exit_code": 1 if call.startswith("!") else 0}
            lines.append({**result, **known})
        lines.append({"role": "assistant", "content": "Done."})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def told_in(folder: str, said: Iterable[tuple[str, Iterable[str]]], *, session: str) -> str:
    """The same as a transcript of Claude Code, which names the folder."""
    lines: list[dict[str, object]] = []

    def add(kind: str, content: object) -> None:
        at = f"2026-03-01T09:{len(lines) // 60:02d}:{len(lines) % 60:02d}.000Z"
        place = {"sessionId": session, "cwd": folder, "timestamp": at, "uuid": f"{session}-{len(lines)}"}
        lines.append({"type": kind, **place, "message": {"role": kind, "content": content}})

    for request, calls in said:
        add("user", request)
        for call in calls:
            command, _, output = call.lstrip("!?").partition(" # ")
            used = {"type": "tool_use", "id": f"t{session}{len(lines)}", "name": "Bash"}
            add("assistant", [{**used, "input": {"command": command}}])
            is_error = call.startswith("!")
            text = f"Exit code 1\n{output}" if is_error else output or "done"
            answer = {"type": "tool_result", "tool_use_id": used["id"], "is_error": is_error}
            add("user", [{**answer, "content": text}])
        add("assistant", [{"type": "text", "text": "Done."}])
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def learned(
    folder: Path, *sessions: Iterable[tuple[str, Iterable[str]]], project: str | Sequence[str] = ""
) -> dict[str, Suggestion]:
    """What a dry run over these sessions suggests, by name; `project` is the folder that they are of, or one
    for each of them."""
    projects = [project] * len(sessions) if isinstance(project, str) else project
    for number, (said, where) in enumerate(zip(sessions, projects, strict=True)):
        text = told_in(where, said, session=f"s{number}") if where else told(said)
        path = folder / f"s{number}.jsonl"
        path.write_text(text, encoding="utf-8")
        # Long ago: what may still be written is left alone.
        os.utime(path, (START.timestamp(), START.timestamp()))
    sources = list(local_transcripts().find([str(folder)]))
    return {each.name: each for each in look_through(sources, workers=1).suggestions}
