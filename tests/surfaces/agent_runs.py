"""Runlore's own agent behind every surface: a model that does what its input says, and streams read back.

What stands in the input is what the model does with it: `!ls` runs a command, `?Which one` asks a person,
`hang` never answers; anything else is answered in words. What a call came to is told in words.
"""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runlore.config.settings import Settings
from runlore.domain.agent.conversation import ToolAnswered, UserSaid
from tests.model_server import (
    KEY,
    KEY_VARIABLE,
    ModelServer,
    Received,
    Reply,
    calls,
    hangs,
    model_server,
    says,
)
from tests.surfaces.api_client import Api, path_of, serving
from tests.surfaces.command_line import Runlore

MARKER = "released: yes"


def obedient(received: Received) -> Reply:
    """What the model says to what was said last."""
    last = received.conversation[-1]
    asked = [each.text for each in received.conversation if isinstance(each, UserSaid)][-1]
    word, rest = asked[:1], asked[1:]
    if isinstance(last, ToolAnswered) and word in ("!", "?"):
        return says(f"It came to: {last.output}")
    if word == "!":
        return says("I run it. ") + calls("shell", {"command": rest})
    if word == "?":
        return calls("ask_user", {"question": rest})
    if asked == "hang":
        return hangs()
    if isinstance(last, UserSaid) and received.tools and "use_skill" not in received.tools:
        # A child: who calls no tool has tried nothing.
        has_memory = "memory_search" in received.tools
        return calls("memory_search", {"query": "it"}) if has_memory else calls("shell", {"command": "true"})
    return says(f"You said {asked[:200]!r}, {MARKER}")


def config(server: ModelServer, more: str = "") -> str:
    """The settings of a Runlore whose model is a server of a test."""
    return "\n".join(
        (
            '[models]\ndefault = "test:scripted"',
            f'[models.providers.test]\nkind = "openai"\nbase_url = "{server.base_url()}"',
            f'api_key_env = "{KEY_VARIABLE}"',
            more,
            "",
        )
    )


class Working(Runlore):
    """The command line of a Runlore that has a model."""

    def __init__(self, home: Path, server: ModelServer, more: str = "") -> None:
        super().__init__(home)
        home.mkdir(mode=0o700, parents=True)
        (home / "config.toml").write_text(config(server, more), encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name its state, and the key of its model."""
        return {**super().environment, KEY_VARIABLE: KEY}


@contextmanager
def agent_api(settings: Settings, script: Any = obedient, **served: Any) -> Iterator[tuple[Api, ModelServer]]:
    """A served Runlore whose model does what it is told."""
    with model_server(script) as server, serving(server.settings(settings), **served) as api:
        yield api, server


@dataclass(frozen=True, kw_only=True)
class Told:
    """One event of a stream."""

    name: str
    data: dict[str, Any]
    number: int | None = None


class Stream:
    """A run's stream, read event by event as it comes."""

    def __init__(self, api: Api, run_id: str, *, query: str = "", **headers: str) -> None:
        self.connection = api.connection()
        sent = {"Authorization": f"Bearer {headers.pop('token', api.secret)}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET", path_of("v1", "runs", run_id, "events") + query, headers=sent)
        self.answer: http.client.HTTPResponse = self.connection.getresponse()
        self.comments = 0

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def __iter__(self) -> Iterator[Told]:
        fields: dict[str, str] = {}
        for raw in self.answer:
            line = raw.decode().rstrip("\n")
            if not line and "data" in fields:
                number = int(fields["id"]) if "id" in fields else None
                yield Told(name=fields["event"], data=json.loads(fields["data"]), number=number)
            if not line:
                fields = {}
            elif line.startswith(":"):
                self.comments += 1
            else:
                name, _, value = line.partition(": ")
                assert name not in fields, "a field stands once"
                fields[name] = value

    def until(self, name: str) -> Told:
        """The next event of a name."""
        return next(told for told in self if told.name == name)


def session(api: Api, folder: Path | None = None, **fields: Any) -> str:
    """A session's id, in a folder where there is one."""
    body = {"working_folder": None if folder is None else str(folder), **fields}
    return str(api.post("/v1/sessions", body, status=201)["session_id"])


def started(api: Api, session_id: str, text: str, **fields: Any) -> str:
    """The id of a run that is worked."""
    path = path_of("v1", "sessions", session_id, "inputs")
    return str(api.post(path, {"text": text, **fields}, status=201)["run_id"])
