"""Lines as Claude Code writes them, made up: a test names only what matters to it."""

from datetime import UTC, datetime, timedelta

from runlore.domain.record import JsonObject

SESSION = "11111111-2222-4333-8444-555555555555"
BEGINNING = datetime(2026, 2, 3, 10, 0, tzinfo=UTC)


class Claude:
    """A session that goes on line by line, a second each."""

    def __init__(self, session: str = SESSION, **every: object) -> None:
        self.session = session
        self.every = every
        self.count = 0

    def line(self, kind: str, **fields: object) -> dict[str, object]:
        """A line of some type, with the fields that all lines of a conversation have."""
        self.count += 1
        at = BEGINNING + timedelta(seconds=self.count)
        return {
            "parentUuid": f"u{self.count - 1}" if self.count > 1 else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/shop",
            "sessionId": self.session,
            "version": "2.1.9",
            "gitBranch": "main",
            "type": kind,
            "uuid": f"u{self.count}",
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            **self.every,
            **fields,
        }

    def user(self, content: object, **fields: object) -> dict[str, object]:
        """A `user` line, whoever speaks in it."""
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def assistant(
        self, *blocks: object, message_id: str = "", usage: object = None, **fields: object
    ) -> dict[str, object]:
        """A piece of a message of the model."""
        line = self.line("assistant", **fields)
        line["message"] = {
            "id": message_id or f"msg_{self.count}",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": list(blocks),
            **({"usage": usage} if usage is not None else {}),
        }
        return line

    def says(self, words: str, **fields: object) -> dict[str, object]:
        """A message of one text."""
        return self.assistant({"type": "text", "text": words}, **fields)  # type: ignore[arg-type]

    def calls(self, call_id: str, command: str, **fields: object) -> dict[str, object]:
        """A call of the shell."""
        return self.assistant(call(call_id, command), **fields)  # type: ignore[arg-type]

    def result(self, call_id: str, output: object, **block: object) -> dict[str, object]:
        """What a tool answered."""
        told = {"type": "tool_result", "tool_use_id": call_id, "content": output, **block}
        line = self.user([told])
        line["toolUseResult"] = {"stdout": output, "stderr": "", "interrupted": False}
        line["sourceToolAssistantUUID"] = "u1"
        return line


def call(call_id: str, command: str) -> JsonObject:
    """A block that calls the shell."""
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
