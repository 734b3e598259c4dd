"""A person at the console: a page in a real browser on a served Runlore, and what always has to be true."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from playwright.sync_api import Browser, Page, expect

from runlore.api.serve import MountedApp
from runlore.config.settings import Settings
from runlore.console.pages import Console
from runlore.daemon.process.browser_sessions import make_code
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.run import RunId
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.domain.session import SessionId
from tests.surfaces.api_client import Api, path_of, serving
from tests.surfaces.skill_runs import import_body, told_run
from tests.waiting import PATIENCE_S

expect.set_options(timeout=1_000 * PATIENCE_S)
# So that a test can wait for what a page has asked for; the stream that it listens to is answered at once.
_CALLS = """
(() => {
  const real = window.fetch;
  window.asked = 0;
  window.fetch = async (...given) => {
    asked += 1;
    try { return await real(...given); } finally { setTimeout(() => { asked -= 1; }, 20); }
  };
})();
"""
_QUIET = """async () => {
    for (let quiet = 0; quiet < 3; await new Promise((done) => setTimeout(done, 10))) {
        quiet = asked || document.body.textContent.includes("Loading\u2026") ? 0 : quiet + 1;
    }
}"""
# What a refused call leaves in the browser's own log, which says nothing about the page.
_REFUSED = "Failed to load resource"


def mounts() -> Mapping[str, MountedApp]:
    """The console as the daemon has it."""
    console = Console()
    return dict.fromkeys(console.paths, console)


@contextmanager
def console_on(settings: Settings) -> Iterator[Api]:
    """A served Runlore with its console."""
    with serving(settings, mounts=mounts) as api:
        yield api


class Walk:
    """One person with one page; whatever happens, no script fails and nothing is asked of another host."""

    def __init__(self, api: Api, page: Page) -> None:
        self.api, self.page = api, page
        self.address = f"http://127.0.0.1:{api.port}"
        self.elsewhere: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(1_000 * PATIENCE_S)
        page.add_init_script(_CALLS)
        page.on("request", lambda each: self._note_request(each.url))
        page.on("pageerror", lambda each: self.errors.append(str(each)))
        page.on("console", lambda each: self._note_line(each.type, each.text))

    def _note_request(self, url: str) -> None:
        if not url.startswith(f"{self.address}/"):
            self.elsewhere.append(url)

    def _note_line(self, kind: str, text: str) -> None:
        if kind == "error" and not text.startswith(_REFUSED):
            self.errors.append(text)

    def log_in(self) -> None:
        """With a link, as `runlore console` prints it."""
        code = make_code(self.api.settings.state_root, datetime.now(UTC))
        self.page.goto(f"{self.address}/#login={code}")
        expect(self.page.get_by_role("navigation")).to_be_visible()

    def go(self, place: str) -> None:
        """Another page of the console, when it is there."""
        self.page.goto(f"{self.address}/#/{place}")
        expect(self.page.locator("main h1")).to_be_visible()

    def go_without_waiting(self, place: str) -> None:
        self.page.evaluate("place => { location.hash = place; }", f"#/{place}")

    def is_drawn(self) -> None:
        """The page has been read whole: nothing is being loaded."""
        self.page.evaluate(_QUIET)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def check(self) -> None:
        """Nothing failed, nothing was asked of another host, and nothing is wider than the window."""
        assert not self.errors
        assert not self.elsewhere
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@contextmanager
def walking(chromium: Browser, api: Api, **context: Any) -> Iterator[Walk]:
    """Somebody who has logged in; at the end everything has to be in order."""
    with chromium.new_context(**context) as opened:
        walk = Walk(api, opened.new_page())
        walk.log_in()
        yield walk
        walk.check()


def say(api: Api, content: str, **more: Any) -> str:
    """A candidate's id."""
    body = {"kind": "fact", "content": content, **more}
    return str(api.post("/v1/learning-candidates", body, status=201)["record_id"])


def publish(api: Api, record_id: str) -> str:
    """A learning's id."""
    return str(api.post(path_of("v1", "learning-candidates", record_id, "publish"))["record_id"])


def settle(api: Api) -> None:
    """Do what waits in the background: a candidate is reviewed before a person looks at it."""
    api.post("/v1/jobs/work", {"limit": 500})


def state(api: Api, record_id: str) -> str:
    return str(api.get(path_of("v1", "memory", "records", record_id))["state"])


def ask(api: Api, session: str, run: str, question: str = "") -> str:
    """The id of what an open run waits for: a call to be allowed, or a question to be answered."""
    parts = api.service.parts
    approval = Approval(
        approval_id=ApprovalId(f"ask-{run}-{len(question)}"),
        run_id=RunId(run),
        session_id=SessionId(session),
        kind=ApprovalKind.QUESTION if question else ApprovalKind.CALL,
        tool="" if question else "shell",
        arguments={} if question else {"command": "make deploy"},
        question=question,
        created_at=parts.clock.now(),
    )
    with parts.store.transaction() as tx:
        tx.approvals.insert(approval)
    return approval.approval_id


def fail_job(api: Api) -> None:
    """A job that nobody tries any more."""
    at = datetime(2026, 3, 1, tzinfo=UTC)
    job = Job(
        job_id=JobId("job_1"),
        kind=JobKind.REVIEW,
        subject="rec_1",
        state=JobState.LEASED,
        attempts=5,
        due_at=at,
        lease_until=at,
        holder="somebody",
        fence=1,
        created_at=at,
    )
    with api.service.parts.store.transaction() as tx:
        tx.jobs.put(job)
        tx.jobs.fail(job, error="it broke", retry_at=None)


def open_run(api: Api, session: str, run: str, request: str) -> None:
    """A run that goes on, in a session of its own."""
    api.post("/v1/sessions", {"session_id": session, "agent": "test"}, status=201)
    body = {"run_id": run, "request": request, "context": True}
    api.post(path_of("v1", "sessions", session, "runs"), body, status=201)


def skill_to_tidy(api: Api) -> str:
    """The name of a saved skill that is much like one that was skipped."""
    api.post("/v1/transcripts/runs", import_body(told_run(1), told_run(2)))
    api.post("/v1/skill-suggestions/detect")
    saved, *_ = (str(each["name"]) for each in api.get("/v1/skill-suggestions")["items"])
    api.post(path_of("v1", "skill-suggestions", saved, "save"), {"accept_untrusted": True})
    api.post(path_of("v1", "skill-suggestions", saved, "skip"))
    return saved
