"""Lines as Codex writes them, made up: a test names only what matters to it."""

import json
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 2, 3, 10, 0, tzinfo=UTC)
SESSION = "019c0000-0000-7000-8000-000000000001"


class Codex:
    """A rollout that goes on line by line, a second each."""

    def __init__(self) -> None:
        self.count = 0

    def line(self, kind: str, payload: object) -> dict[str, object]:
        """A line of some kind."""
        self.count += 1
        at = BEGINNING + timedelta(seconds=self.count)
        return {"timestamp": at.isoformat().replace("+00:00", "Z"), "type": kind, "payload": payload}

    def meta(self, id: str = SESSION, **fields: object) -> dict[str, object]:
        """Which session it is."""
        about = {"id": id, "cwd": "/srv/shop", "cli_version": "0.140.0", "git": {"branch": "main"}}
        return self.line("session_meta", {**about, **fields})

    def event(self, kind: str, **fields: object) -> dict[str, object]:
        """An event."""
        return self.line("event_msg", {"type": kind, **fields})

    def item(self, kind: str, **fields: object) -> dict[str, object]:
        """An item of the conversation."""
        return self.line("response_item", {"type": kind, **fields})

    def says(self, words: str) -> list[dict[str, object]]:
        """What the user says, twice as it is written: as an item, then as an event."""
        return [self.message("user", words), self.event("user_message", message=words, images=[])]

    def answers(self, words: str) -> list[dict[str, object]]:
        """What the model says, twice as it is written."""
        return [self.event("agent_message", message=words), self.message("assistant", words)]

    def message(self, role: str, words: str) -> dict[str, object]:
        """A message in some role."""
        kind = "output_text" if role == "assistant" else "input_text"
        return self.item("message", role=role, content=[{"type": kind, "text": words}])

    def runs(self, call_id: str, command: str, **fields: object) -> dict[str, object]:
        """A call of the shell."""
        arguments = json.dumps({"cmd": command, "workdir": "/srv/shop", "yield_time_ms": 1000, **fields})
        return self.item("function_call", name="exec_command", call_id=call_id, arguments=arguments)

    def polls(self, call_id: str, process: int, chars: str = "") -> dict[str, object]:
        """A call that asks for the state of a process, or types into it."""
        arguments = json.dumps({"session_id": process, "chars": chars, "yield_time_ms": 1000})
        return self.item("function_call", name="write_stdin", call_id=call_id, arguments=arguments)

    def output(self, call_id: str, output: object) -> dict[str, object]:
        """The answer to a call."""
        return self.item("function_call_output", call_id=call_id, output=output)

    def exited(self, call_id: str, text: str, code: int = 0) -> dict[str, object]:
        """The answer to a command that has ended."""
        return self.output(call_id, report(text, f"Process exited with code {code}"))

    def running(self, call_id: str, process: int, text: str = "") -> dict[str, object]:
        """The answer to a command that still runs."""
        return self.output(call_id, report(text, f"Process running with session ID {process}"))

    def program(self, call_id: str, text: str) -> dict[str, object]:
        """A program that calls tools."""
        return self.item("custom_tool_call", name="exec", call_id=call_id, input=text, status="completed")

    def put_out(self, call_id: str, *texts: str, how: str = "completed") -> dict[str, object]:
        """What a program put out."""
        parts = [f"Script {how}\nWall time 0.3 seconds\nOutput:\n", *texts]
        return self.item(
            "custom_tool_call_output",
            call_id=call_id,
            output=[{"type": "input_text", "text": text} for text in parts],
        )


def report(text: str, state: str) -> str:
    """A tool's answer with its header."""
    return f"Chunk ID: 0a1b2c\nWall time: 0.1 seconds\n{state}\nOriginal token count: 7\nOutput:\n{text}"


def flat(*lines: object) -> list[object]:
    """Lines out of lines and lists of lines."""
    return [each for line in lines for each in (line if isinstance(line, list) else [line])]
