"""The page on rollouts says what the code says: moves, guards, routes, and what each step writes."""

import re
from pathlib import Path

import pytest

from runlore.api.app import all_endpoints
from runlore.domain.skills.rollout import ROLLOUT, RolloutMove, RolloutStatus
from scripts.reference_pages import error_codes
from tests.model_server import Received, Reply, calls, model_server, says
from tests.surfaces.agent_runs import MARKER, Working
from tests.surfaces.command_line import Json

PAGE = (Path(__file__).parents[2] / "docs" / "rollout.md").read_text("utf-8")
# What follows from the rows that the page names: their words, numbers, pointers, counts, and what is owed.
ASIDE = frozenset(
    {"counters", "idempotency", "jobs", "mined_runs", "processes", "run_captures", "run_pointers"}
    | {"run_pointer_scopes", "skill_numbers", "texts"}
)


@pytest.mark.req("ROL-2")
def test_the_diagram_is_the_table_of_moves() -> None:
    [diagram] = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
    moves = [f"    {start} --> {end}: {move}" for (start, move), end in ROLLOUT.table.items()]

    assert diagram.splitlines() == [f"    [*] --> {RolloutStatus.DRAFT}: {RolloutMove.PROMOTE}", *moves]


@pytest.mark.req("ROL-4", "ROL-8")
def test_every_status_is_explained() -> None:
    assert re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE, re.MULTILINE)[: len(RolloutStatus)] == [
        *RolloutStatus
    ]


@pytest.mark.req("ROL-1", "ROL-3", "ROL-6", "ROL-9")
def test_every_guard_stands_in_the_table_with_its_class() -> None:
    rows = dict(re.findall(r"^\| `([a-z]+\.[a-z-]+)` \| (\w+) \| ", PAGE, re.MULTILINE))
    known = error_codes()

    assert {code for code in known if code.startswith("promoted.")} <= rows.keys()
    assert {code: {kind} for code, kind in rows.items()} == {
        code: known.get(code, {"unknown"}) & {kind} for code, kind in rows.items()
    }


@pytest.mark.req("SUR-3", "ROL-13")
def test_every_path_that_the_page_names_is_a_route_and_none_is_left_out() -> None:
    routes = {(endpoint.method, re.sub(r"{\w+}", "{}", endpoint.path)) for endpoint in all_endpoints()}
    named = {
        (method, re.sub(r"{\w+}", "{}", path)) for method, path in re.findall(r"`([A-Z]+) (/v1/[^`?]+)", PAGE)
    }

    assert named <= routes
    assert {path for _, path in routes if "learning-skills" in path or "promote-skill" in path} <= {
        path for _, path in named
    }


@pytest.mark.req("ROL-3", "ROL-8", "ROL-10", "ROL-12")
def test_each_step_writes_what_the_table_says(clean_home: Path, tmp_path: Path) -> None:
    lines = (line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| `"))
    told = {
        step.strip(" `"): (_names(tables), _names(files))
        for step, tables, files, _ in (cells for cells in lines if len(cells) == 4)
    }

    with model_server(_releasing) as server:
        assert _written(Working(clean_home / "runlore", server), tmp_path) == told


def _names(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def _written(runlore: Working, folder: Path) -> dict[str, tuple[set[str], set[str]]]:
    """What each step of a rollout leaves in the store and in the state root."""
    made = str(runlore.json("learning", "candidates", "create", "Do it", "--kind", "procedure")["record_id"])
    runlore.json("session", "create", "--id", "team", "--working-folder", str(folder))
    ran: list[str] = []

    def do(step: str, *words: str) -> tuple[set[str], set[str]]:
        before = runlore.contents()
        answer = runlore.json(*step.split(), *words)
        if "run" in answer:
            ran.append(str(answer["run"]["run_id"]))
        return _changed(before, runlore.contents())

    rollout, marker = "skill rollout", ("--marker", MARKER)
    written = {
        "learning candidates publish": do("learning candidates publish", made),
        f"{rollout} start": do(f"{rollout} start", made, "release"),
        f"{rollout} trial": do(f"{rollout} trial", "release", "1.0", "--folder", str(folder)),
    }
    written |= {
        f"{rollout} record": do(f"{rollout} record", "release", ran[-1], *marker),
        f"{rollout} advance verified": do(f"{rollout} advance", "release", "verified"),
        f"{rollout} advance canary": do(f"{rollout} advance", "release", "canary", "--session", "team"),
        "run": do("run", "Do it as usual", "--session", "team"),
    }
    return written | {
        f"{rollout} record canary": do(f"{rollout} record", "release", ran[-1], *marker, "--kind", "canary"),
        f"{rollout} advance active": do(f"{rollout} advance", "release", "active"),
        f"{rollout} revoke": do(f"{rollout} revoke", "release"),
        f"{rollout} rollback": do(f"{rollout} rollback", "release"),
        "learning revoke": do("learning revoke", made),
    }


def _changed(before: Json, after: Json) -> tuple[set[str], set[str]]:
    """The tables and the files of which something is another by now; indexes are made of them."""
    tables, files = (
        {
            name
            for name in before[kind].keys() | after[kind]
            if before[kind].get(name) != after[kind].get(name)
        }
        for kind in ("tables", "files")
    )
    named = {re.sub(r"run_\w+", "RUN", name).replace("skills/release/", "skills/NAME/") for name in files}
    return tables - ASIDE, {name for name in named if not name.startswith("index/")}


def _releasing(received: Received) -> Reply:
    """A model that uses the skill, and as a child writes a file and says the marker."""
    if len(received.conversation) > 1:
        return says(f"Done, {MARKER}")
    if "use_skill" in received.tools:
        return calls("use_skill", {"name": "release", "arguments": "1.0"})
    return calls("write_file", {"path": "VERSION", "content": "1.0\n"})
