"""The page on Runlore's own agent says what the code says: tools, settings, limits, routes, the question."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runlore.agents.profiles.profiles import load_profile
from runlore.api.app import all_endpoints
from runlore.config.file import config_schema
from scripts.reference_pages import error_codes
from tests.model_server import model_server
from tests.surfaces.agent_runs import Working
from tests.surfaces.at_terminal import here
from tests.surfaces.page_model import page_model

PAGE = (Path(__file__).parents[2] / "docs" / "agent.md").read_text("utf-8")
PROFILES = [load_profile("default"), load_profile("verification")]


@pytest.mark.req("AGT-1")
def test_the_table_of_tools_has_those_of_the_profile_in_its_order() -> None:
    [table] = re.findall(r"^\| tool \|.*?\n\n", PAGE, re.DOTALL | re.MULTILINE)

    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == PROFILES[0].tools
    assert ", ".join(f"`{tool}`" for tool in PROFILES[1].tools) in " ".join(PAGE.split())


@pytest.mark.req("AGT-4", "SUR-6")
def test_the_table_of_settings_has_every_one_with_the_limits_of_each_profile() -> None:
    rows = re.findall(r"^\| `(\[agent[^`]*)` \|([^|]*)\|([^|]*)\| ", PAGE, re.MULTILINE)
    told = {name: tuple(cell.strip() for cell in cells) for name, *cells in rows}

    assert sorted(told) == sorted(_settings())
    assert told == {name: _limits(name) for name in told}


@pytest.mark.req("SUR-3", "AGT-5")
def test_every_path_that_the_page_names_is_a_route_and_none_is_left_out() -> None:
    routes = {
        (endpoint.method, re.sub(r"{\w+}", "{}", endpoint.path), endpoint.route.area)
        for endpoint in all_endpoints()
    }
    named = {
        (method, re.sub(r"{\w+}", "{}", path)) for method, path in re.findall(r"`([A-Z]+) (/v1/[^`?]+)", PAGE)
    }

    assert named == {(method, path) for method, path, area in routes if area == "agent"}


@pytest.mark.req("SUR-7")
def test_what_can_go_wrong_has_every_code_of_the_agent_that_somebody_can_act_on() -> None:
    told = set(re.findall(r"`((?:agent|workspace|worktree)\.[a-z-]+)`", PAGE))

    assert told == {code for code in error_codes() if code.startswith(("agent.", "workspace.", "worktree."))}


@pytest.mark.req("AGT-4")
def test_the_question_is_shown_as_the_page_shows_it(clean_home: Path, tmp_path: Path) -> None:
    [makefile] = re.findall(r"^\$ printf '(.*)' > project/Makefile$", PAGE, re.MULTILINE)
    [block] = re.findall(r"```text\n(I run it.*?)```", PAGE, re.DOTALL)
    (tmp_path / "Makefile").write_text(makefile.encode().decode("unicode_escape"))
    (tmp_path / "VERSION").write_text("1.0.0\n")

    with model_server(page_model) as server:
        working = Working(clean_home / "runlore", server)
        seen = here(working, "run", "Run the check", "--folder", str(tmp_path), answers=("y\n",))

    assert block in seen.text, seen.text


def _settings() -> Iterator[str]:
    """Every setting of the agent, as the page names it."""
    schema = config_schema()
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    for table, definition in (("agent", "AgentTable"), ("agent.approval", "ApprovalTable")):
        for name, field in definitions[definition]["properties"].items():
            if "$ref" not in field:
                yield f"[{table}] {name}"


def _limits(setting: str) -> tuple[str, ...]:
    """What each profile says of a setting that is a limit."""
    name = setting.rpartition(" ")[2]
    found = (getattr(profile.limits, name, None) for profile in PROFILES)
    return tuple("" if limit is None else f"{limit:g}" for limit in found)
