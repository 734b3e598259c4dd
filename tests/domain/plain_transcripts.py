"""Sessions written as plain JSONL of OpenAI messages, and what a dry run over them suggests.

A call is its command; with `!` in front it failed, with `?` its exit code is not told, and behind ` # `
stands what it printed.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from runlore.daemon.mining.dry_run import look_through
from runlore.daemon.mining.places import local_transcripts
from runlore.domain.suggestion import Suggestion


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


def learned(folder: Path, *sessions: Iterable[tuple[str, Iterable[str]]]) -> dict[str, Suggestion]:
    """What a dry run over these sessions suggests, by name."""
    for number, said in enumerate(sessions):
        (folder / f"s{number}.jsonl").write_text(told(said), encoding="utf-8")
    sources = list(local_transcripts().find([str(folder)]))
    return {each.name: each for each in look_through(sources, workers=1).suggestions}
