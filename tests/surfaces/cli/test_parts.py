"""The commands are loaded one by one, and told together in the words of each."""

import subprocess
import sys

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from runlore.cli.command_table import PARTS
from runlore.cli.main import app

pytestmark = pytest.mark.req("SUR-7")

LOADED = """
import sys
from runlore.cli.main import run
run(sys.argv[1:])
print(*sorted(name for name in sys.modules if name.startswith("runlore.")))
"""


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a call of the command loads."""
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name", PARTS)
def test_the_overview_tells_of_a_command_what_it_tells_of_itself(name: str) -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    command = root.commands[name]

    assert command.name == name
    assert command.get_short_help_str(limit=500) == PARTS[name].about


@pytest.mark.parametrize("arguments", [("version",), ("--help",), ("nonsense",), ("policy", "--help")])
def test_a_command_loads_none_of_the_others(arguments: tuple[str, ...]) -> None:
    wanted = {f"runlore.cli.{part.module}" for name, part in PARTS.items() if name == arguments[0]}
    parts = {f"runlore.cli.{part.module}" for part in PARTS.values()}

    assert loaded_by(*arguments) & parts == wanted


def test_a_group_is_shown_with_all_its_commands_and_loads_only_the_one_that_is_called() -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    memory = root.commands["memory"]
    assert isinstance(memory, TyperGroup)
    review = memory.commands["review"]
    assert isinstance(review, TyperGroup)

    assert {"list", "search", "profile", "review", "radar"} <= set(memory.commands)
    assert {"list", "confirm"} <= set(review.commands)
    assert not {"runlore.cli.review", "runlore.cli.radar"} & loaded_by("memory", "search", "--help")


def test_the_version_is_told_without_loading_what_runlore_does() -> None:
    assert not {
        name
        for name in loaded_by("version")
        if name.startswith(("runlore.ports.operations", "runlore.daemon"))
    }


def test_a_command_that_is_misspelt_is_told_its_neighbours() -> None:
    with pytest.raises(typer.TyperException, match=r"Did you mean .*'version'"):
        get_command(app).main(args=["vrsion"], prog_name="runlore", standalone_mode=False)


def test_whoever_asks_a_daemon_loads_none_of_what_finds_skills() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import sys, runlore.client.remote.operations; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(ran.stdout.split())
    finding = (
        "runlore.domain.shell",
        "runlore.domain.detectors.",
        "runlore.domain.suggesting.",
        "tree_sitter",
    )

    assert "runlore.daemon.answers" in loaded
    assert {name for name in loaded if name.startswith(finding)} == set()
