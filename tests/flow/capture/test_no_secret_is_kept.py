"""No field of a session, a persona or a run carries a secret to the disk, nor our own sections."""

import pytest

from runlore.domain.prompts.injected import REMOVED
from runlore.domain.run import ArtifactId, RunId, RunStatus
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from tests.world import World, outcome

pytestmark = pytest.mark.req("LRN-8", "JRN-1")

SECRET = "ghp_" + "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"
TALK = SessionId("talk")
ECHO = "<runlore:learned_context>\n- the codename is Atlas\n</runlore:learned_context>"
CAPABILITIES = ["allow_tools", "deny_tools", "allow_skills", "deny_skills"]


def test_the_names_that_programs_give_themselves_are_kept_without_secrets(world: World) -> None:
    session = world.operator.create_session(ops.NewSession(agent=f"codex {SECRET}", title=SECRET))
    asked = ops.NewRun(session_id=session.session_id, request="go", agent=f"a {SECRET}", model=f"m {SECRET}")
    run = world.operator.open_run(asked).run

    assert session.agent == "codex <redacted:github-token>"
    assert (run.agent, run.model) == ("a <redacted:github-token>", "m <redacted:github-token>")
    assert SECRET not in repr(world.tables())


def test_an_id_that_is_a_secret_is_refused(world: World) -> None:
    run = world.run()
    calls = [
        lambda: world.operator.create_session(ops.NewSession(session_id=SessionId(SECRET))),
        lambda: world.operator.create_session(ops.NewSession(project_ids=("acme", SECRET))),
        lambda: world.operator.create_session(ops.NewSession(persona_id=PersonaId(SECRET))),
        lambda: world.operator.change_session(ops.SessionChange(session_id=TALK, project_ids=(SECRET,))),
        lambda: world.operator.change_session(
            ops.SessionChange(session_id=TALK, persona_id=PersonaId(SECRET))
        ),
        lambda: world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId(SECRET))),
        lambda: world.operator.open_run(ops.NewRun(session_id=TALK, request="go", run_id=RunId(SECRET))),
        lambda: world.operator.add_artifact(
            ops.NewArtifact(run_id=run.run_id, name="n", text="t", artifact_id=ArtifactId(SECRET))
        ),
    ]

    assert [outcome(call) for call in calls] == ["guard.secret"] * len(calls)
    assert SECRET not in repr(world.tables())


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_pattern_that_is_a_secret_is_refused(world: World, name: str) -> None:
    world.run()
    patterns = {name: ["bash", f"{SECRET}*"]}
    calls = [
        lambda: world.operator.change_session(ops.SessionChange(session_id=TALK, capability_scope=patterns)),
        lambda: world.operator.put_persona(
            ops.PersonaChange(persona_id=PersonaId("p"), capability_scope=patterns)
        ),
    ]

    assert [outcome(call) for call in calls] == ["guard.secret"] * len(calls)
    assert SECRET not in repr(world.tables())


@pytest.mark.req("CAP-6")
def test_what_runlore_rendered_is_not_remembered_of_errors_artifacts_and_titles(world: World) -> None:
    run = world.run()
    kept = world.operator.add_artifact(ops.NewArtifact(run_id=run.run_id, name="n", text=f"a {ECHO}"))
    title = "see <runlore:learned_context>Atlas</runlore:learned_context>"
    session = world.operator.change_session(ops.SessionChange(session_id=TALK, title=title))

    ended = world.operator.finish_run(
        ops.RunEnd(run_id=run.run_id, status=RunStatus.FAILED, error=f"it broke: {ECHO}")
    )

    assert kept is not None
    assert (kept.text, session.title) == (f"a {REMOVED}", f"see {REMOVED}")
    assert ended.run.error == f"it broke: {REMOVED}"
    assert "Atlas" not in repr(world.tables())
