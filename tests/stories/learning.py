"""Daemons that learn from runs with a model at hand, agents that report those runs, and what came of it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import orjson
import psycopg

from runlore.config.settings import Settings
from runlore.domain.record import State
from runlore.domain.runs.job import Job
from runlore.flow.queueing import RECURRING
from runlore.ports import operations as ops
from tests.model_server import KEY_VARIABLE, Received, Reply
from tests.stories.daemons import JSON, Daemon
from tests.waiting import PATIENCE_S, until

SOON_S = PATIENCE_S
EVERY_STATE = "&".join(f"state={state}" for state in State)
_REVISION = re.compile(r"policy revision (\d+)")
# Whatever holds a job is dead or suspended: this is what half a minute without it does.
_LAPSE = "UPDATE jobs SET lease_until_ms = 0 WHERE state = 'leased'"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a daemon answered."""

    status: int
    document: dict[str, Any]


class Learner:
    """One daemon with a model, and calls to it."""

    def __init__(self, settings: Settings, *, base_url: str, kind: str = "openai") -> None:
        self.settings = settings
        self.daemon = Daemon(settings)
        root = Path(settings.state_root)
        root.mkdir(parents=True, mode=0o700)
        lines = (
            '[models]\ndefault = "test:scripted"\n',
            f'[models.providers.test]\nkind = "{kind}"\nbase_url = "{base_url}"',
            f'api_key_env = "{KEY_VARIABLE}"\n',
        )
        (root / "config.toml").write_text("\n".join(lines), encoding="utf-8")

    def answer(self, method: str, path: str, body: object = None) -> Answer:
        """One call, however it ends."""
        with closing(self.daemon.transport()) as transport:
            sent = b"" if body is None else orjson.dumps(body)
            answer = transport.call(method, path, headers=JSON if sent else {}, body=sent, timeout_s=SOON_S)
        return Answer(status=answer.status, document=orjson.loads(answer.body))

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """One call that is answered well."""
        answer = self.answer(method, path, body)
        assert answer.status in (200, 201), (path, answer)
        return answer.document

    def put_policy(self, policy: Mapping[str, Any]) -> int:
        """Another learning policy; its revision."""
        return int(self.call("PUT", "/v1/policies/learning", {"policy": policy})["revision"])

    def open(self, run_id: str, request: str, *, session_id: str) -> dict[str, Any]:
        """Open a run with its context, in a session that is made where it is missing."""
        self.call("POST", "/v1/sessions", {"session_id": session_id})
        body = {"run_id": run_id, "request": request, "context": True}
        return self.call("POST", f"/v1/sessions/{session_id}/runs", body)

    def finish(self, run_id: str, *events: Mapping[str, Any]) -> None:
        """Say what happened in a run, and end it."""
        said = [*events, {"type": "assistant_message", "text": "I have done what you asked for."}]
        self.call("POST", f"/v1/runs/{run_id}/events", {"events": said})
        self.call("POST", f"/v1/runs/{run_id}/finish", {"status": "completed"})

    def run(self, run_id: str, request: str, *, session_id: str) -> dict[str, str]:
        """A run from its beginning to its end; the sections that it was given."""
        opened = self.open(run_id, request, session_id=session_id)
        self.finish(run_id)
        return sections_of(opened)

    def items(self, path: str) -> list[dict[str, Any]]:
        """What a list holds, all of it."""
        page = self.call("GET", path)
        assert page["next_cursor"] is None, f"{path} has a second page"
        return list(page["items"])

    def candidates(self) -> list[dict[str, Any]]:
        """Everything that was ever a candidate, run summaries too."""
        path = f"/v1/learning-candidates?limit=500&{EVERY_STATE}"
        return [*self.items(path), *self.items(f"{path}&kind=run_summary")]

    def reviews(self, record_id: str) -> Counter[int]:
        """How often automation reviewed a record, under each revision of the policy."""
        events = self.items(f"/v1/memory/records/{record_id}/history")
        told = (_REVISION.match(event["reason"]) for event in events if event["actor"] == "daemon")
        return Counter(int(found[1]) for found in told if found)

    def wait_until_idle(self) -> None:
        """Wait until there is no background work left, and none that was given up."""
        until(lambda: not self.pressing_jobs(), told=self._waiting)

    def pressing_jobs(self) -> list[dict[str, Any]]:
        """The work that is not put off by itself."""
        jobs = self.call("GET", "/v1/jobs")["items"]
        return [job for job in jobs if not job["subject"].startswith(RECURRING)]

    def _waiting(self) -> object:
        return self.call("GET", "/v1/jobs")


def pressing_jobs(operations: ops.Operations) -> list[Job]:
    """The work that is not put off by itself."""
    return [job for job in operations.list_jobs() if not job.subject.startswith(RECURRING)]


@dataclass
class Model:
    """What a scripted model says: the statements it was taught to find in a request, and a judge's word."""

    finds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    judges: Callable[[str], str] = lambda _: "publish_active"
    reason: str = "the request says so"

    def __call__(self, received: Received) -> Mapping[str, Any] | Reply:
        """The answer to one question."""
        document = received.document
        if "candidate" in document:
            return {"action": self.judges(document["candidate"]["content"]), "reason": self.reason}
        found = [
            {"kind": kind, "content": content, "quote": phrase, "confidence": 95}
            for phrase, (kind, content) in self.finds.items()
            if phrase in document["request"]
        ]
        return {"candidates": found}


@contextmanager
def started(*learners: Learner) -> Iterator[None]:
    """Daemons that are ended whatever happens."""
    try:
        for learner in learners:
            learner.daemon.start()
        yield
    finally:
        for learner in learners:
            learner.daemon.close()


def sections_of(opened: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a run's sections by their names."""
    return {section["name"]: section["text"] for section in opened["sections"]}


def lapse_leases(settings: Settings) -> None:
    """Let half a minute pass for the jobs that somebody held who cannot go on with them."""
    if settings.database_url:
        with psycopg.connect(settings.database_url, autocommit=True) as server:
            server.execute(_LAPSE)
        return
    file = apsw.Connection(f"{settings.state_root}/runlore.db")
    file.set_busy_timeout(10_000)
    file.execute(_LAPSE)
    file.close()
