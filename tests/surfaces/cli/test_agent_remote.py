"""The same commands against a daemon: what its runs wait for is answered from another terminal."""

import os
import readline
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runlore.cli.chat import PROMPT
from runlore.config.settings import Settings
from runlore.domain.access import Role
from tests.model_server import Received, Reply, model_server
from tests.surfaces.agent_runs import MARKER, Stream, Working, agent_api, obedient, session, started
from tests.surfaces.api_client import Api, path_of
from tests.surfaces.at_terminal import CTRL_C, at_terminal, here
from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Runlore
from tests.surfaces.told_story import Story, differences

pytestmark = pytest.mark.req("AGT-5", "SUR-7")


class Elsewhere(Runlore):
    """A command line whose Runlore is at an address."""

    def __init__(self, api: Api, home: Path, secret: str = "") -> None:
        super().__init__(home)
        self.api = api
        self.secret = secret or api.secret

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name the address."""
        url = f"http://127.0.0.1:{self.api.port}"
        return {**super().environment, "RUNLORE_URL": url, "RUNLORE_TOKEN": self.secret}


@pytest.fixture
def api(clean_home: Path) -> Iterator[Api]:
    """A served Runlore whose model does what it is told."""
    with agent_api(Settings(state_root=str(clean_home / "runlore"))) as (made, _):
        yield made


@pytest.fixture
def there(api: Api, clean_home: Path) -> Elsewhere:
    """The command line of it."""
    return Elsewhere(api, clean_home / "nothing-here")


def test_a_task_is_worked_there_and_told_here(there: Elsewhere, tmp_path: Path) -> None:
    ended = there.json("run", "Release it", "--folder", str(tmp_path))
    person = there.run("run", "And again", "--session", ended["run"]["session_id"])

    assert ended["final_output"] == f"You said 'Release it', {MARKER}"
    shown = there.api.get(path_of("v1", "runs", ended["run"]["run_id"]))
    assert {**ended["run"], "outcome": shown["outcome"]} == shown
    assert (person.code, person.out) == (0, f"You said 'And again', {MARKER}\n")


@pytest.mark.req("AGT-4")
def test_this_folder_is_not_taken_for_one_of_that_machine(there: Elsewhere) -> None:
    ended = there.json("run", "Release it")

    assert there.json("session", "show", ended["run"]["session_id"])["working_folder"] is None


def test_a_person_decides_about_a_call_there(there: Elsewhere, tmp_path: Path) -> None:
    seen = here(there, "run", "!touch made", "--folder", str(tmp_path), answers=("y\n",))

    assert seen.code == 0
    assert (tmp_path / "made").exists()


def test_ctrl_c_cancels_the_run_there(there: Elsewhere, tmp_path: Path) -> None:
    words = ("run", "!echo it begins; sleep 60", "--folder", str(tmp_path))
    seen = here(there, *words, answers=("y\n",), then=CTRL_C)

    assert seen.code == 130
    assert [run["status"] for run in there.items("session", "runs")] == ["cancelled"]


def test_what_runs_wait_for_is_listed_shown_and_decided(there: Elsewhere, tmp_path: Path) -> None:
    api = there.api
    sessions = {text: session(api, tmp_path) for text in ("!touch yes", "!touch no", "?Which colour")}
    runs = {text: started(api, session_id, text) for text, session_id in sessions.items()}
    asked = {}
    for text, run_id in runs.items():
        with Stream(api, run_id) as stream:
            asked[text] = stream.until("approval").data["approval_id"]

    listed = [each["approval_id"] for each in there.items("approvals", "list")]
    of_one = there.items("approvals", "list", "--run", runs["!touch no"])
    of_session = there.items("approvals", "list", "--session", sessions["?Which colour"])
    first = there.items("approvals", "list", "--limit", "2")
    shown = there.text("approvals", "list")
    approved = there.text("approvals", "approve", asked["!touch yes"])
    denied = there.json("approvals", "deny", asked["!touch no"], "--reason", "not today")
    answered = there.json("approvals", "answer", asked["?Which colour"], "green")
    for run_id in runs.values():
        there.json("session", "run", "follow", run_id)

    assert set(listed) == set(asked.values())
    assert [each["approval_id"] for each in of_one] == [asked["!touch no"]]
    assert [each["approval_id"] for each in of_session] == [asked["?Which colour"]]
    assert [each["approval_id"] for each in first] == listed[:2]
    assert '{"command":"touch no"}' in shown
    assert "Which colour" in shown
    assert approved == f"Approved: {asked['!touch yes']} of run {runs['!touch yes']}\n"
    assert (denied["state"], denied["answer"]) == ("denied", "not today")
    assert (answered["state"], answered["answer"]) == ("answered", "green")
    assert there.json("approvals", "show", asked["!touch no"]) == denied
    assert "touch no" in there.text("approvals", "show", asked["!touch no"])
    assert there.text("approvals", "list") == "No run waits for you.\n"
    assert there.text("approvals", "list", "--state", "lapsed") == "There are none.\n"
    states = there.items("approvals", "list", "--state", "denied", "--state", "answered")
    assert {each["state"] for each in states} == {"denied", "answered"}
    assert {path.name for path in tmp_path.iterdir()} == {"yes"}


def test_a_run_that_somebody_else_began_is_followed_and_answered(there: Elsewhere, tmp_path: Path) -> None:
    session_id = session(there.api, tmp_path)
    allowed = started(there.api, session_id, "!touch made")
    followed = there.run("session", "run", "follow", allowed, "--yes")
    waiting = started(there.api, session_id, "hang")
    cancelled = there.text("session", "run", "cancel", waiting)

    assert followed.code == 0
    assert "• shell  touch made" in followed.err
    assert (tmp_path / "made").exists()
    assert cancelled == f"Run {waiting} is cancelled\n"


@pytest.mark.req("AGT-4")
def test_whoever_only_looks_on_decides_nothing_and_stops_nothing(there: Elsewhere, tmp_path: Path) -> None:
    run_id = started(there.api, session(there.api, tmp_path), "!touch made")
    looking = subprocess.Popen(
        [PROGRAM, "session", "run", "follow", run_id],
        env={**os.environ, **there.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert looking.stderr is not None
    waits = next(line for line in looking.stderr if line.startswith("The run waits for a word on shell: "))
    asked = waits.split()[-1]
    looking.send_signal(signal.SIGINT)
    left = looking.communicate(timeout=TIMEOUT_S)[1]
    assert there.json("approvals", "show", asked)["state"] == "waiting"
    there.json("approvals", "approve", asked)
    told = there.run("session", "run", "follow", run_id)

    assert (looking.returncode, told.code) == (130, 0)
    assert f"Left. How it ends: runlore session run show {run_id}" in left
    assert told.out.startswith("It came to: ")
    assert (tmp_path / "made").exists()


@pytest.mark.req("OPS-5")
def test_what_an_agent_may_not_decide_waits_for_somebody_who_may(api: Api, clean_home: Path) -> None:
    operator = Elsewhere(api, clean_home / "nothing-here")
    agent = Elsewhere(api, clean_home / "nothing-here", secret=api.token("agent", Role.AGENT))
    session_id = agent.json("session", "create")["session_id"]

    def answer() -> None:
        run_id = None
        while run_id is None:
            runs = api.get(path_of("v1", "sessions", session_id, "runs"))["items"]
            run_id = runs[0]["run_id"] if runs else None
        with Stream(api, run_id) as stream:
            asked = stream.until("approval").data["approval_id"]
        api.post(path_of("v1", "approvals", asked), {"answer": "green"})

    answering = threading.Thread(target=answer)
    answering.start()
    done = agent.run("run", "?Which colour", "--session", session_id)
    answering.join()

    assert (done.code, done.out) == (0, "It came to: green\n")
    assert "This is not yours to decide: " in done.err
    assert "The run waits for an answer: runlore approvals show apr_" in done.err
    states = [each["state"] for each in operator.items("approvals", "list", "--state", "answered")]
    assert states == ["answered"]


def test_an_input_that_is_refused_does_not_end_the_conversation(clean_home: Path) -> None:
    ends: list[Callable[[], object]] = []

    def last_words(received: Received) -> Reply:
        if received.text.endswith("over"):
            ends.pop()()
        return obedient(received)

    with agent_api(Settings(state_root=str(clean_home / "runlore")), last_words) as (api, _):
        there = Elsewhere(api, clean_home / "nothing-here")
        path = path_of("v1", "sessions", session(api, session_id="s"))
        ends.append(lambda: api.call("PATCH", path, {"ended": True}))
        seen = here(there, "chat", "--session", "s", answers=("over\n", "more\n", "/exit\n"), asked="you> ")

    assert seen.text.count("error: ") == 1
    assert (seen.code, seen.text.count("you> ")) == (0, 3)


def test_what_is_typed_can_be_edited_brought_back_and_pasted(there: Elsewhere) -> None:
    left, up, lines = "\x1b[D", "\x1b[A", "Fix this:\n\n  a\ny"
    # Whoever marks what is pasted sends carriage returns; without the marks lines come one after the other.
    is_marked = "GNU" in str(readline.__doc__)
    pasted = "\x1b[200~{}\x1b[201~".format(lines.replace("\n", "\r")) if is_marked else lines
    typed = (f"Hllo{left}{left}{left}e\n", f"{up}!\n", f"{pasted}\n", CTRL_C, f"{up}{up}?\n", CTRL_C, CTRL_C)

    seen = at_terminal(there, "chat", "--no-folder", answers=typed, asked=PROMPT, term="xterm")

    assert (seen.code, seen.text.count("Ctrl-C again leaves.")) == (0, 2)
    assert ("\x1b[?2004h" in seen.text) == is_marked
    requests = [run["request"] for run in there.items("session", "runs")]
    assert requests == ["Hello!?", lines, "Hello!", "Hello"]


def test_an_end_that_was_missed_is_told_all_the_same(there: Elsewhere) -> None:
    run_id = started(there.api, session(there.api), "Release it")
    with Stream(there.api, run_id) as stream:
        stream.until("end")

    seen = [here(there, "session", "run", "follow", run_id) for _ in range(2)]

    assert seen[0] == seen[1]
    assert seen[0].text == f"You said 'Release it', {MARKER}\n"


@pytest.mark.req("SUR-1", "SUR-2", "ROL-13")
def test_the_same_commands_print_the_same_here_and_there(
    there: Elsewhere, clean_home: Path, tmp_path: Path
) -> None:
    told = []
    with model_server(obedient) as model:
        for place in (Working(clean_home / "here", model), there):
            story = Story(place)
            agent(story, str(tmp_path))
            rollouts(story, str(tmp_path))
            told.append(story.told)

    assert len(told[0]) > 15
    assert differences(told[0], told[1]) == []


def agent(story: Story, folder: str) -> None:
    """Tasks that Runlore's own agent works through, and what becomes of what they ask."""
    first = story.done("run", "Release it ✓", "--folder", folder)
    session = first["run"]["session_id"]
    story.done("run", "!touch made", "--session", session, "--no-learn")
    for words in (
        ("run", "Go", "--session", "none"),
        ("approvals", "list", "--state", "denied", "--state", "answered", "--session", session),
        ("approvals", "answer", "none", "green"),
        ("session", "run", "follow", first["run"]["run_id"]),
        ("session", "runs", session),
    ):
        story.run(*words)


def rollouts(story: Story, folder: str) -> None:
    """A procedure on its way to being a skill."""
    made = story.done("learning", "candidates", "create", "Tag it, then push", "--kind", "procedure")
    story.place.json("jobs", "work")
    story.done("learning", "candidates", "publish", made["record_id"])
    story.done("skill", "rollout", "start", made["record_id"], "tag-it", "--description", "Tags it ✓")
    story.done("skill", "rollout", "trial", "tag-it", "Go", "--folder", folder, "--record", MARKER)
    for words in (
        ("advance", "tag-it", "active"),
        ("advance", "tag-it", "verified"),
        ("revoke", "tag-it", "--reason", "it broke ✓"),
        ("rollback", "tag-it"),
        ("status",),
        ("history", "tag-it"),
    ):
        story.run("skill", "rollout", *words)
