"""What a command loads: few modules, and none of what it does not use (docs/decisions/0003-start-up.md).

A count is no timing, and holds on every machine. Whoever goes beyond one looks first for what the new import
brings along: `python -X importtime -m runlore memory list` tells.
"""

import inspect
import os
import subprocess
import sys
from types import ModuleType

import pytest

from runlore.ports import operations as ops
from runlore.ports.operations.areas import AREA_OF_OPERATION, AREA_OF_VALUE, AREAS, load_area
from runlore.ports.operations.declaration import OPERATIONS
from tests.surfaces.command_line import TIMEOUT_S, Runlore

pytestmark = pytest.mark.req("SUR-7")

LOADED = """
import sys
from runlore.cli.main import run
code = run(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""
# Libraries that no command needs which only looks at a small store and answers in JSON.
LIBRARIES = (
    *("numpy", "rich", "pydantic", "fastapi", "starlette", "uvicorn", "openai", "anthropic", "yaml"),
    *("asyncio", "re2", "ahocorasick", "tree_sitter", "structlog", "psycopg"),
)
# What looks for secrets, reads shells, learns and works: loaded with the first who calls it.
WORK = (
    *("runlore.api", "runlore.agents", "runlore.daemon.agent.run_worker", "runlore.daemon.skills.mounting"),
    *("runlore.domain.guard.scan", "runlore.domain.shell", "runlore.domain.suspicion"),
    *(
        "runlore.domain.statements.finding",
        "runlore.domain.privacy.personal_data",
        "runlore.domain.suggesting.parameters",
    ),
    *("runlore.domain.claims.subject", "runlore.domain.claims.question", "runlore.domain.records.admission"),
    *("runlore.domain.skill_matching", "runlore.daemon.skills.choice"),
    *("runlore.flow.pipeline", "runlore.flow.reactions", "runlore.recall", "runlore.storage.sql.dump"),
    *("runlore.domain.suggesting", "runlore.models.prompt_files", "runlore.daemon.skills.file_sync"),
)
# What an answer is worked out with, and what other operations answer: no part of a client that asks for one.
ELSEWHERE = (
    *(
        "regex",
        "tomllib",
        "runlore.domain.records.curation",
        "runlore.domain.detectors",
        "runlore.domain.languages",
    ),
    *(
        "runlore.domain.policies.learning_policy",
        "runlore.domain.policies.policy_fields",
        "runlore.domain.claims.question",
    ),
    *("runlore.cli.review", "runlore.cli.radar", "runlore.ports.operations.learning"),
)
ENGINE = ("runlore.daemon.wiring", "runlore.daemon.operations", "runlore.flow", "runlore.storage.sql", "apsw")
# Of these, some are the areas of `domain`: packages with nothing but a docstring.
# Folders count too.
COMMANDS = {
    ("version",): 32,
    ("--help",): 11,
    ("memory", "list", "--json"): 212,
    ("memory", "search", "word", "--json"): 214,
    ("status", "--json"): 235,
    ("status",): 236,
}
ALONE = (("version",), ("--help",))
JSON = tuple(words for words in COMMANDS if words[-1] == "--json")
# Nothing is found, which is said in a line: that takes no table, and so no rich.
SAID = ("memory", "search", "word")


def loaded(runlore: Runlore, *words: str) -> list[str]:
    """The modules that a command has loaded by its end."""
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        env={**os.environ, **runlore.environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return ran.stderr.split()


def test_what_is_read_off_the_sources_is_what_the_areas_declare() -> None:
    methods = {
        name: each for name, each in inspect.getmembers(ops.Operations, inspect.isfunction) if name[0] != "_"
    }
    values = {name for area in AREAS for name in _own_classes(load_area(area))}

    assert {name: each.__module__.rpartition(".")[2] for name, each in methods.items()} == AREA_OF_OPERATION
    assert {name: each.method for name, each in OPERATIONS.items()} == methods
    assert values - set(AREA_OF_VALUE) == set()
    assert [name for name in AREA_OF_VALUE if not hasattr(ops, name)] == []


def _own_classes(module: ModuleType) -> set[str]:
    """The classes that a module makes for others."""
    found = inspect.getmembers(module, inspect.isclass)
    return {name for name, kind in found if kind.__module__ == module.__name__ and name[0] != "_"}


def test_skills_are_listed_without_what_finds_them(embedded: Runlore) -> None:
    for words in (("skill", "list", "--json"), ("session", "list", "--json")):
        assert "runlore.daemon.mining.proposing" not in loaded(embedded, *words)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_loads_few_modules_and_none_that_it_does_not_use(
    words: tuple[str, ...], embedded: Runlore
) -> None:
    # The first in a new folder looks at the files of skills too, and notes that it has.
    loaded(embedded, *words)
    found = loaded(embedded, *words)

    assert [name for name in (*LIBRARIES, *WORK) if name in found] == []
    assert len([name for name in found if name.startswith("runlore.")]) <= COMMANDS[words]
    if words in ALONE:
        assert [name for name in (*ENGINE, "runlore.ports.operations") if name in found] == []


def test_a_command_that_asks_a_daemon_loads_nothing_of_the_engine(embedded: Runlore) -> None:
    assert embedded.installed("up", "--detach", "--port", "0").code == 0
    try:
        found = [loaded(embedded, *words) for words in (*COMMANDS, SAID) if words in (SAID, *JSON)]
    finally:
        assert embedded.installed("down").code == 0

    assert all("runlore.client.remote" in modules for modules in found)
    unwanted = (*LIBRARIES, *WORK, *ELSEWHERE, *ENGINE)
    assert [[name for name in unwanted if name in modules] for modules in found] == [[]] * 4
    assert max(len([name for name in modules if name.startswith("runlore.")]) for modules in found) <= 81
