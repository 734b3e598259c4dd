"""An agent whose memory and skills are Runlore's own: from a first run to an active skill, whoever dies."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest

from runlore.config.settings import Settings
from runlore.domain.prompts.injected import closing_line, opening_line
from runlore.domain.prompts.projection import SectionName
from runlore.domain.run import RunId, RunStatus
from runlore.ports import operations as ops
from tests.flow.child_scene import repository
from tests.model_server import KEY, KEY_VARIABLE, model_server
from tests.stories.agent_story import (
    FIRST,
    MARKER,
    PREFERENCE,
    SECOND,
    SKILL,
    TALK,
    THIRD,
    TRYING,
    Agents,
    Story,
    outputs_of,
    requests_of,
)
from tests.stories.learning import SOON_S

pytestmark = pytest.mark.req(
    "AGT-1", "AGT-5", "AGT-6", "ROL-3", "ROL-8", "ROL-12", "SKL-1", "SKL-11", "OPS-4"
)

STEPS = 14
CLEAN = ("", 1)


@pytest.fixture(scope="module", autouse=True)
def _key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(KEY_VARIABLE, KEY)
        yield


@contextmanager
def told(folder: Path, kind: str, url: str | None = None) -> Iterator[tuple[Story, Agents]]:
    """A story with its daemon, which is ended whatever happens."""
    agents = Agents()
    settings = Settings(state_root=str(folder / "home"), database_url=url)
    with model_server(agents) as server, TemporaryDirectory(prefix="runlore-") as disk:
        base_url = server.base_url("anthropic" if kind == "anthropic" else "compatible")
        story = Story(settings, repository(Path(disk) / "project"), base_url=base_url, kind=kind)
        story.daemon.start()
        try:
            yield story, agents
        finally:
            story.daemon.close()


@pytest.fixture(scope="module")
def undisturbed(_key: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the story ends where nobody dies."""
    with told(tmp_path_factory.mktemp("control"), "openai") as (story, agents):
        for step in story.steps():
            step()
        _check(story, agents)
        return story.ending()


def _url(engine: str, request: pytest.FixtureRequest) -> str | None:
    return str(request.getfixturevalue("postgres_database")) if engine == "postgres" else None


def test_a_preference_reaches_the_next_request_and_a_procedure_becomes_a_skill_over_either_protocol(
    tmp_path: Path, postgres_database: str, undisturbed: dict[str, Any]
) -> None:
    with told(tmp_path, "anthropic", postgres_database) as (story, agents):
        for step in story.steps():
            step()
        _check(story, agents)
        assert story.ending() == undisturbed


@pytest.mark.parametrize(
    ("place", "killed"),
    [
        pytest.param(("sqlite", "openai"), range(STEPS), id="sqlite-openai-always"),
        pytest.param(
            ("postgres", "anthropic"), range(STEPS), marks=pytest.mark.soak, id="postgres-anthropic-always"
        ),
        *(
            pytest.param(place, [step], marks=pytest.mark.soak, id=f"{'-'.join(place)}-{step}")
            for place in (("sqlite", "anthropic"), ("postgres", "openai"))
            for step in range(STEPS)
        ),
    ],
)
def test_a_daemon_that_is_killed_between_any_two_steps_comes_to_the_same_end(
    place: tuple[str, str],
    killed: Sequence[int],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    undisturbed: dict[str, Any],
) -> None:
    engine, kind = place
    with told(tmp_path, kind, _url(engine, request)) as (story, agents):
        steps = story.steps()
        assert len(steps) == STEPS
        for number, step in enumerate(steps):
            step()
            if number in killed:
                story.die()
        assert story.ending() == undisturbed
        _check(story, agents)


def _check(story: Story, agents: Agents) -> None:
    """What the model was really sent, and what has come of it."""
    _check_memory(story, agents)
    _check_child(story, agents)
    ending = story.ending()
    assert ending["skill"]["status"] == "active"
    assert ending["skill"]["evidence"] == [("verification", True, TALK), ("canary", True, TRYING)]
    assert ending["seen"] == [SKILL]
    assert ending["used"] == (1, 1, 0), "once since everybody sees it"
    assert set(ending["remembered"]) == {"stored"}
    assert [status for _, status, _ in ending["runs"]] == ["completed"] * 7
    assert ending["approvals"] == [("shell", "approved", {"command": "./chek"})]
    assert (ending["copies"], ending["project"]) == ([], CLEAN)


def _check_memory(story: Story, agents: Agents) -> None:
    failed, _ = outputs_of(requests_of(agents, FIRST)[-1])
    assert "exit code 127" in failed
    (sent,) = requests_of(agents, SECOND)
    sections = {
        name: sent.instructions.partition(opening_line(name))[2].partition(closing_line(name))[0]
        for name in (SectionName.LEARNED_CONTEXT, SectionName.RECOVERED_MEMORY)
    }
    assert PREFERENCE in sections[SectionName.LEARNED_CONTEXT]
    assert "Please run the check" in sections[SectionName.RECOVERED_MEMORY]
    with story.operations() as daemon:
        kept = daemon.list_artifacts(RunId("second")).items
        texts = {each.name: daemon.get_artifact(each.artifact_id).text for each in kept}
    assert orjson.loads(texts["request-first.json"]) == sent.body
    assert orjson.loads(texts["request-last.json"]) == sent.body
    assert all(KEY not in text for text in texts.values())


def _check_child(story: Story, agents: Agents) -> None:
    listed, _ = outputs_of(requests_of(agents, THIRD)[-1])[:2]
    assert listed.startswith(f"{SKILL}: ")
    result = story.told("third", "use_skill")
    assert MARKER in result["final_output"]
    assert (result["snapshot"]["status"], result["snapshot"]["tool_calls"]) == ("completed", 2)
    with story.operations() as daemon:
        diff = daemon.get_artifact(result["snapshot"]["diff_artifact_id"])
        child = daemon.get_run(RunId(result["launch_run_id"])).run
    assert "+checked" in diff.text
    assert (child.status, diff.run_id) == (RunStatus.COMPLETED, child.run_id)


@pytest.mark.parametrize(("engine", "kind"), [("sqlite", "openai"), ("postgres", "anthropic")])
def test_a_daemon_that_is_killed_while_a_child_works_leaves_no_copy_and_the_trial_is_made_again(
    engine: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with told(tmp_path, kind, _url(engine, request)) as (story, agents):
        for step in (story.prepare, story.publish_a_procedure, story.promote_it):
            step()
        agents.silent_child = True
        lost = ops.TrialRequest(skill_name=SKILL, input="", session_id=TALK, idempotency_key="lost")
        with story.operations() as daemon:
            run_id = daemon.try_promoted(lost).run.run_id
        _until_heard(agents)
        assert story.left_copies()
        assert story.left_in_project() == ("!! .runlore-worktrees/\n", 2), "it is there, and git ignores it"

        story.die()

        agents.silent_child = False
        with story.operations() as daemon:
            run = daemon.try_promoted(lost).run
            assert (run.run_id, run.status) == (run_id, RunStatus.INTERRUPTED)
            assert (story.left_copies(), story.left_in_project()) == ([], CLEAN)
            again = ops.TrialRequest(skill_name=SKILL, input="", session_id=TALK, wait=True)
            assert daemon.try_promoted(again).run.status is RunStatus.COMPLETED


def _until_heard(agents: Agents) -> None:
    for _ in range(int(SOON_S / 0.05)):
        if agents.heard:
            return
        threading.Event().wait(0.05)
    raise AssertionError("nobody asked the model")
