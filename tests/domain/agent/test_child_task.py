"""What a child agent is told of the promoted skill that it works by, and what it may use for it."""

import re
import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.agent.agent_profile import AgentLimits, AgentProfile
from runlore.domain.agent.child_task import child_input, child_models, child_profile
from runlore.domain.errors import Invalid
from runlore.domain.learning.labels import find_labelled
from runlore.domain.learning.own_words import has_pasted
from runlore.domain.skills.rollout import Definition, Runtime

pytestmark = pytest.mark.req("ROL-11", "ROL-12")

TOOLS = ("shell", "read_file", "write_file", "scratch")
PROFILE = AgentProfile(
    name="verification",
    instructions="You carry out one written procedure.",
    tools=TOOLS,
    limits=AgentLimits(
        turns_max=4, seconds_max=60, call_seconds_max=10, output_chars_max=4_000, answer_seconds_max=1
    ),
    asks=False,
)
SKILL = Definition(
    name="check-logs",
    description="Looks through the logs.",
    instructions="1. Run ./check.\n2. Report LOGS-OK.",
    when_to_use="Before each release.",
    version="1.2.0",
)


def _named(**runtime: object) -> Definition:
    return Definition(name="check-logs", description="d", instructions="i", runtime=Runtime(**runtime))  # type: ignore[arg-type]


class TestInput:
    def test_it_tells_what_the_skill_is_for_and_what_it_is_applied_to(self) -> None:
        told = child_input(SKILL, "the logs of June")

        assert told.splitlines()[:3] == [
            "Carry out the procedure of the skill check-logs, version 1.2.0.",
            "What it is for: Looks through the logs.",
            "When it is used: Before each release.",
        ]
        assert "untrusted data" in told
        assert told.endswith("\n```text\nthe logs of June\n```")
        assert SKILL.instructions not in told

    @pytest.mark.parametrize("arguments", ["", " \n\t "])
    def test_without_arguments_nothing_is_fenced(self, arguments: str) -> None:
        told = child_input(SKILL, arguments)

        assert "```" not in told
        assert "no arguments" in told

    @given(st.text(alphabet="`~=a \n\t\r\u202e\x1b", max_size=200))
    def test_no_argument_closes_its_fence(self, arguments: str) -> None:
        told = child_input(SKILL, arguments)

        if not arguments.strip():
            return
        lines = told.split("\n")
        fence = lines[-1]
        opened = lines.index(f"{fence}text")
        assert re.fullmatch("`{3,}", fence)
        inside = lines[opened + 1 : -1]
        assert not any(fence in line for line in inside)
        assert not {"\u202e", "\x1b", "\r"} & set("".join(inside))

    @pytest.mark.req("TNT-1", "TNT-3")
    @pytest.mark.parametrize("label", ["Preference: use tabs.", "Fact: the key is under the mat."])
    def test_what_an_argument_states_is_nobodys_own_word(self, label: str) -> None:
        told = child_input(SKILL, f"{label}\n```\n{label}")

        assert all(each.is_pasted for each in find_labelled(told))
        assert has_pasted(told)

    def test_arguments_have_a_limit_to_the_character(self) -> None:
        most = "x" * limits.PROMOTED_ARGUMENTS_CHARS_MAX

        assert most in child_input(SKILL, most)
        with pytest.raises(Invalid) as caught:
            child_input(SKILL, f"{most}x")
        assert caught.value.code == "promoted.arguments"
        assert "x" * 200 not in caught.value.sentence

    @pytest.mark.parametrize("sign", ["`", "=", "\\", "\u202e"])
    def test_the_worst_texts_cost_no_time(self, sign: str) -> None:
        began = time.process_time()
        child_input(SKILL, sign * limits.PROMOTED_ARGUMENTS_CHARS_MAX)
        child_profile(
            PROFILE, Definition(name="n", description="d", instructions=sign * limits.SKILL_BODY_CHARS_MAX)
        )
        assert time.process_time() - began < 1


class TestProfile:
    def test_the_procedure_stands_behind_the_profiles_own_words(self) -> None:
        words = child_profile(PROFILE, SKILL).instructions

        own, _, procedure = words.partition("\n\n")
        assert own == PROFILE.instructions
        line = procedure.splitlines()[-1]
        assert re.fullmatch("={24,}", line)
        assert procedure.split(f"\n{line}\n")[1].removesuffix(f"\n{line}") == SKILL.instructions
        assert "check-logs (version 1.2.0)" in procedure

    @given(st.text(alphabet="=x\n{}", min_size=1, max_size=120))
    def test_no_procedure_ends_itself(self, instructions: str) -> None:
        made = child_profile(PROFILE, Definition(name="n", description="d", instructions=instructions))

        line = made.instructions.splitlines()[-1]
        assert made.instructions.endswith(f"\n{line}\n{instructions}\n{line}")
        assert line not in instructions

    def test_each_tool_is_there_that_profile_and_skill_allow_and_no_other(self) -> None:
        known = (*TOOLS, "use_skill")
        for bits in product((0, 1, 2), repeat=len(known)):
            allowed = tuple(name for name, bit in zip(known, bits, strict=True) if bit == 1)
            blocked = tuple(name for name, bit in zip(known, bits, strict=True) if bit == 2)
            made = child_profile(PROFILE, _named(allowed_tools=allowed, blocked_tools=blocked))

            wanted = [name for name in TOOLS if (name in allowed or not allowed) and name not in blocked]
            assert list(made.tools) == wanted
            assert (made.name, made.limits, made.asks) == (PROFILE.name, PROFILE.limits, False)


@pytest.mark.parametrize(
    ("provider", "model", "fallback", "wanted"),
    [
        ("", "", "", ("", "")),
        ("", "openai:a", "local:b", ("openai:a", "local:b")),
        ("local", "llama3:8b", "", ("local:llama3:8b", "")),
        ("local", "local:llama3:8b", "tiny", ("local:llama3:8b", "local:tiny")),
        ("local", "", "", ("", "")),
    ],
)
def test_a_skill_names_its_models_whole_or_by_its_provider(
    provider: str, model: str, fallback: str, wanted: tuple[str, str]
) -> None:
    models = child_models(Runtime(provider=provider, model=model, fallback_model=fallback))

    assert (models.model, models.fallback_model) == wanted
