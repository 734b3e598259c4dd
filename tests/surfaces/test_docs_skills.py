"""The page on skills says what the tables say: the moves of a skill, the policy's fields, the routes."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from runlore.api.app import all_endpoints
from runlore.domain.policies.skills_policy import SkillsPolicy, skills_policy_to_plain
from runlore.domain.record import JsonValue
from runlore.domain.skill import SKILL
from tests.surfaces.at_terminal import here
from tests.surfaces.command_line import Runlore

PAGE = (Path(__file__).parents[2] / "docs" / "skills.md").read_text("utf-8")


def fields(policy: Mapping[str, JsonValue], path: str = "") -> Iterator[tuple[str, str]]:
    """Every field of a policy with its value, as a page writes it."""
    for name, value in policy.items():
        if isinstance(value, dict):
            yield from fields(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", str(value).lower()


@pytest.mark.req("SKL-7")
def test_the_question_is_shown_as_the_page_shows_it(embedded: Runlore, tmp_path: Path) -> None:
    [written] = re.findall(r"sessions/day-\$day\.jsonl <<END\n(.*?)> END", PAGE, re.DOTALL)
    for day in "123":
        file = tmp_path / f"day-{day}.jsonl"
        file.write_text(re.sub(r"^> ", "", written, flags=re.MULTILINE).replace("$day", day))
        os.utime(file, (file.stat().st_mtime - 172_800,) * 2)
    embedded.json("learn", str(tmp_path))
    [block] = re.findall(r"```text\n(Skill suggestion: .*?)```", PAGE, re.DOTALL)

    seen = here(embedded, "skill", "save", answers=("n\n",))

    shown = "(?s:.*)".join(map(re.escape, block.rstrip().split("   ...\n")))
    assert re.search(shown, seen.text), seen.text


@pytest.mark.req("SKL-8")
def test_the_diagram_is_the_table_of_moves() -> None:
    [diagram] = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
    moves = [f"    {start} --> {end}: {move}" for (start, move), end in SKILL.table.items()]

    assert diagram.splitlines() == moves


@pytest.mark.req("SKL-12")
def test_the_configuration_table_has_every_field_with_its_default() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| `([^`]+)` \| ", PAGE, re.MULTILINE)

    assert rows == list(fields(skills_policy_to_plain(SkillsPolicy())))


@pytest.mark.req("SUR-3")
def test_every_path_that_the_page_names_is_a_route() -> None:
    routes = {(endpoint.method, re.sub(r"{\w+}", "{}", endpoint.path)) for endpoint in all_endpoints()}
    named = {
        (method, re.sub(r"{\w+}", "{}", path)) for method, path in re.findall(r"`([A-Z]+) (/v1/[^`?]+)", PAGE)
    }

    assert named <= routes
    assert {path for _, path in routes if path.startswith(("/v1/skills", "/v1/skill-curations"))} <= {
        path for _, path in named
    }
