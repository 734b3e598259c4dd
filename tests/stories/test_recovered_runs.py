"""A real daemon stops, its run memories are tampered with, and it starts again: what is left is right."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import psycopg
import pytest

from runlore.config.settings import Settings
from runlore.domain.run import RunId
from runlore.storage.run_memories import name_of
from tests.stories.daemons import JSON, Daemon
from tests.waiting import until

HOSTILE = "../../../x"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


class Story:
    """One daemon, and calls to it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.daemon = Daemon(settings)
        self.daemon.start()

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """One call that is answered well."""
        with closing(self.daemon.transport()) as transport:
            sent = b"" if body is None else orjson.dumps(body)
            answer = transport.call(method, path, headers=JSON if sent else {}, body=sent)
        assert answer.status in (200, 201), answer.body
        document: dict[str, Any] = orjson.loads(answer.body)
        return document

    def run(self, run_id: str, said: str = "Done") -> None:
        """A run from its beginning to its end."""
        self.call("POST", "/v1/sessions/talk/runs", {"run_id": run_id, "request": f"Do {run_id}"})
        path = f"/v1/runs/{quote(run_id, safe='')}"
        event = {"type": "assistant_message", "text": said}
        self.call("POST", f"{path}/events", {"events": [event]})
        assert self.call("POST", f"{path}/finish", {"status": "completed"})["memory"] == "stored"

    def recovered(self) -> list[str]:
        """The runs that the next prompt may be given."""
        context = self.call("GET", "/v1/sessions/talk/memory-context")
        return [entry["run_id"] for entry in context["recovered_memory"]["entries"]]

    def metrics(self) -> dict[str, int]:
        """What was counted of run memories."""
        counted: dict[str, int] = self.call("GET", "/v1/status")["run_memory"]["metrics"]
        return counted

    def stop(self) -> None:
        """Stop the daemon properly."""
        self.daemon.signal(signal.SIGTERM)
        self.daemon.close()


@pytest.fixture(params=["sqlite", "postgres"])
def story(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Story]:
    """A daemon on either database, with one session."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    told = Story(Settings(state_root=str(tmp_path / "home"), database_url=url))
    told.call("POST", "/v1/sessions", {"session_id": "talk"})
    yield told
    told.daemon.close()


@pytest.mark.req("RUN-1", "RUN-5", "RUN-9", "SUR-3")
def test_a_restart_gives_back_what_was_done(story: Story) -> None:
    for run_id in ("one", HOSTILE, "three", "four"):
        story.run(run_id)
    before = story.recovered()

    story.stop()
    story.daemon.start()

    assert story.recovered() == before == ["four", "three", HOSTILE]
    assert story.call("GET", "/v1/sessions/talk/memory-search?query=three")["results"]
    outside = Path(story.settings.state_root).parent
    assert not [path for path in outside.rglob("x*") if path.name.startswith("x")]


@pytest.mark.req("RUN-4", "RUN-6", "RUN-9", "OPS-1")
def test_a_daemon_starts_over_memories_that_were_tampered_with(story: Story) -> None:
    names = ("good", "missing", "cut", "swapped-1", "swapped-2", "folder", "link")
    for name in names:
        story.run(name)
    story.call("PUT", "/v1/policies/run-memory", {"policy": {"max_prompt_entries": 32}})
    story.stop()
    _tamper(story.settings)

    story.daemon.start()

    assert story.recovered() == ["good"]
    # On PostgreSQL a daemon looks through all memories behind its start.
    until(lambda: story.call("GET", "/v1/status")["run_memory"]["maintenance"]["index_rebuilt"])
    maintenance = story.call("GET", "/v1/status")["run_memory"]["maintenance"]
    told = {diagnostic.get("run_id") for diagnostic in maintenance["diagnostics"]}
    assert {"missing", "cut", "swapped-1", "swapped-2"} <= told
    story.run("after")
    assert story.recovered() == ["after", "good"]


@pytest.mark.req("RUN-8", "RUN-5", "OPS-1")
def test_the_thirty_third_run_takes_the_place_of_the_first(story: Story) -> None:
    for number in range(33):
        story.run(f"run-{number:02}")

    status = story.call("GET", "/v1/status")["run_memory"]
    assert status["indexed_record_count"] == 32
    assert story.metrics()["pruned_overflow_total"] == 1
    assert story.recovered() == ["run-32", "run-31", "run-30"]
    story.stop()
    story.daemon.start()
    assert story.call("GET", "/v1/status")["run_memory"]["indexed_record_count"] == 32
    assert story.call("GET", "/v1/runs/run-00")["memory"] == "pruned"


@pytest.mark.req("RUN-7", "RUN-3", "RUN-8")
def test_a_budget_of_nothing_of_little_and_of_much(story: Story) -> None:
    for number in range(4):
        story.run(f"run-{number}", FAMILY * 100)
    given = {}
    for budget, entries in ((0, 3), (1, 3), (160, 3), (5_000, 3), (5_000, 1), (5_000, 0)):
        policy = {"budget_tokens": budget, "max_prompt_entries": entries}
        story.call("PUT", "/v1/policies/run-memory", {"policy": policy})
        preview = story.call("POST", "/v1/sessions/talk/inputs/preview", {"text": "And now?"})
        sections = {section["name"]: section for section in preview["sections"]}
        found = sections.get("recovered_memory", {"entries": [], "text": ""})
        given[budget, entries] = [entry["source_id"] for entry in found["entries"]]
        # No half of a family: what is left of a cut text is whole faces, then the ellipsis.
        assert "\u200d…" not in found["text"]

    assert given[0, 3] == given[1, 3] == given[5_000, 0] == []
    assert given[5_000, 1] == ["run-3"]
    assert given[5_000, 3] == ["run-3", "run-2", "run-1"]
    assert given[160, 3] == given[5_000, 3][: len(given[160, 3])]


def _tamper(settings: Settings) -> None:
    """Take one memory away, cut one, swap two, and put a folder and a link in place of others."""
    if settings.database_url:
        with psycopg.connect(settings.database_url, autocommit=True) as server:
            server.execute("DELETE FROM run_memories WHERE run_id IN ('missing', 'folder', 'link')")
            server.execute("UPDATE run_memories SET body = left(body, 9) WHERE run_id = 'cut'")
            server.execute("UPDATE run_memories SET run_id = 'aside' WHERE run_id = 'swapped-1'")
            server.execute("UPDATE run_memories SET run_id = 'swapped-1' WHERE run_id = 'swapped-2'")
            server.execute("UPDATE run_memories SET run_id = 'swapped-2' WHERE run_id = 'aside'")
        return
    folder = Path(settings.state_root) / "run-memories"
    files = {name: folder / name_of(RunId(name)) for name in ("missing", "cut", "folder", "link")}
    one, two = folder / name_of(RunId("swapped-1")), folder / name_of(RunId("swapped-2"))
    files["missing"].unlink()
    files["cut"].write_bytes(files["cut"].read_bytes()[:9])
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    files["folder"].unlink()
    files["folder"].mkdir()
    files["link"].unlink()
    files["link"].symlink_to(Path(settings.state_root) / "operator.token")
