"""Which tools a run has: those of its profile, that its session allows, and that there is something for."""

from collections.abc import Mapping
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.agents.profiles.profiles import load_profile, profile_names, profile_of
from runlore.agents.tools.toolbox import TOOLS, toolbox
from runlore.agents.workspace.local_workspace import LocalWorkspace
from runlore.domain.agent.agent_profile import AgentProfile
from runlore.domain.agent.approval_decision import HARMLESS, SHELL, WRITING
from runlore.domain.capability import Capabilities, CapabilityScope, combine
from runlore.domain.errors import Corrupt, NotFound
from runlore.domain.serialization.json_schema import breach
from runlore.domain.skills.rollout import VERIFICATION_PROFILE
from tests.agents.acting import LIMITS
from tests.agents.tools.tooling import EVERYTHING, tool, use
from tests.agents.tools.tooling import given as given_to
from tests.world import World

TOUCHING = {"shell", "read_file", "write_file", "edit_file"}
NAMES = st.lists(st.sampled_from(sorted(TOOLS)), unique=True)
PATTERNS = st.none() | st.lists(
    st.sampled_from([*sorted(TOOLS), "*", "*_file", "memory*", "s*"]), max_size=3
).map(tuple)
SCOPES = st.none() | st.builds(CapabilityScope, allow_tools=PATTERNS, deny_tools=PATTERNS)


@pytest.mark.req("SCO-4", "AGT-4")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=NAMES, restricted=st.tuples(SCOPES, SCOPES), has_folder=st.booleans(), asks=st.booleans())
def test_a_run_has_what_profile_persona_session_and_place_leave_it(
    world: World,
    workspace: LocalWorkspace,
    *,
    names: list[str],
    restricted: tuple[CapabilityScope | None, CapabilityScope | None],
    has_folder: bool,
    asks: bool,
) -> None:
    profile = AgentProfile(name="x", instructions="x", tools=tuple(names), limits=LIMITS, asks=asks)
    given_parts = given_to(
        world, workspace=workspace if has_folder else None, ask=lambda _question, _stop: "yes"
    )

    made = [each.spec.name for each in toolbox(profile, combine(*restricted), given_parts)]

    scopes = [scope for scope in restricted if scope is not None]
    assert made == [
        name
        for name in names
        if all(scope.allows_tool(name) for scope in scopes)
        and (has_folder or name not in TOUCHING)
        and (asks or name != "ask_user")
    ]


@pytest.mark.req("AGT-1")
def test_nobody_is_asked_where_nobody_answers(world: World) -> None:
    names = [each.spec.name for each in toolbox(EVERYTHING, Capabilities(), given_to(world))]

    assert "ask_user" not in names


@pytest.mark.req("AGT-1")
def test_a_question_waits_for_a_person_under_the_runs_own_stop(world: World) -> None:
    heard: list[tuple[str, Event]] = []

    def ask(question: str, stop: Event) -> str:
        heard.append((question, stop))
        return "blue"

    asking, stop = tool("ask_user", given_to(world, ask=ask)), Event()

    assert use(asking, {"question": "Which colour?"}, stop=stop).output == "blue"
    assert heard == [("Which colour?", stop)]
    assert asking.spec.waits


@pytest.mark.req("AGT-1")
def test_every_tool_has_a_strict_schema_and_says_what_it_is_for(
    world: World, workspace: LocalWorkspace
) -> None:
    given_parts = given_to(world, workspace=workspace, ask=lambda _question, _stop: "yes")
    made = toolbox(EVERYTHING, Capabilities(), given_parts)

    assert {each.spec.name for each in made} == set(TOOLS)
    for each in made:
        parameters = each.spec.parameters
        assert len(each.spec.description) > 40
        assert (parameters["type"], parameters["additionalProperties"]) == ("object", False)
        assert breach({"surely_not": 1}, parameters) is not None
        properties = parameters["properties"]
        assert isinstance(properties, Mapping)
        for name, schema in properties.items():
            assert isinstance(schema, Mapping)
            assert schema["description"], name
            # Nothing that a model writes is without a bound.
            assert {"maxLength", "maximum", "enum"} & schema.keys() or schema["type"] == "boolean", name


@pytest.mark.req("AGT-4")
def test_the_approval_rules_know_every_tool() -> None:
    assert {SHELL, *WRITING, *HARMLESS} == set(TOOLS)


@pytest.mark.req("AGT-1", "ROL-11")
def test_the_profiles_that_come_with_runlore_are_whole() -> None:
    assert profile_names() == ("default", VERIFICATION_PROFILE)
    default, verification = load_profile(), load_profile(VERIFICATION_PROFILE)

    assert set(default.tools) == set(TOOLS)
    assert (default.asks, verification.asks) == (True, False)
    # A child asks nobody, starts nobody and proposes nothing.
    assert not {"ask_user", "use_skill", "propose_learning"} & set(verification.tools)
    assert "data" in default.instructions
    assert "data" in verification.instructions


@pytest.mark.req("AGT-1")
def test_an_unknown_profile_is_told_with_the_names_that_there_are() -> None:
    with pytest.raises(NotFound) as caught:
        load_profile("../default")

    assert (caught.value.code, caught.value.hint) == ("profile.not-found", "there are: default, verification")


GOOD = """
asks = true
tools = ["shell"]

[limits]
turns_max = 5
seconds_max = 60
turn_seconds_max = 30
call_seconds_max = 1.5
output_chars_max = 4000
answer_seconds_max = 60
"""


@pytest.mark.req("AGT-1")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("asks = true", ""),
        ("asks = true", 'asks = "yes"'),
        ("asks = true", "asks = true\nmore = 1"),
        ('["shell"]', "[]"),
        ('["shell"]', '"shell"'),
        ('["shell"]', '["shell", "shell"]'),
        ('["shell"]', '["rocket"]'),
        ('["shell"]', "[7]"),
        ("turns_max = 5\n", ""),
        ("turns_max = 5\n", "turns_max = 5\nother_max = 5\n"),
        ("turns_max = 5", "turns_max = 0"),
        ("turns_max = 5", "turns_max = 1.5"),
        ("turns_max = 5", "turns_max = true"),
        ("turns_max = 5", "turns_max = 100000"),
        ("seconds_max = 60", "seconds_max = nan"),
        ("output_chars_max = 4000", "output_chars_max = -1"),
        ("asks = true", "asks = = true"),
    ],
)
def test_a_profile_with_a_mistake_is_no_profile(old: str, new: str) -> None:
    assert profile_of("test", GOOD, "Words.").limits.call_seconds_max == 1.5
    assert old in GOOD

    with pytest.raises(Corrupt) as caught:
        profile_of("test", GOOD.replace(old, new, 1), "Words.")
    assert caught.value.code == "profile.format"


@pytest.mark.req("AGT-1")
@pytest.mark.parametrize(("name", "words"), [("test", " \n"), ("Test", "Words."), ("", "Words.")])
def test_a_profile_has_a_name_and_words(name: str, words: str) -> None:
    with pytest.raises(Corrupt):
        profile_of(name, GOOD, words)
