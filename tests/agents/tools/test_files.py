"""Tools that touch the working folder: what they show a model, and what they refuse."""

from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.agents.model_turns import Deadline
from runlore.agents.tools.context import RunTool, ToolContext
from runlore.agents.tools.files import read_file
from runlore.agents.workspace.local_workspace import LocalWorkspace
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.domain.errors import RunloreError
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports.operations import Operations
from runlore.ports.workspaces import Workspace
from tests.agents.acting import LIMITS
from tests.agents.commands import environment
from tests.agents.tools.tooling import no_fork, tool, use, workplace
from tests.fakes import FakeClock
from tests.world import World

pytestmark = pytest.mark.req("AGT-1", "AGT-4")


def reads(workspace: Workspace, chars_max: int) -> RunTool:
    """The tool that reads files of a workspace, and no more of one than so much at once."""
    made = read_file(
        ToolContext(
            operations=cast("Operations", None),
            run_id=RunId("run"),
            session_id=SessionId("session"),
            limits=replace(LIMITS, output_chars_max=chars_max),
            fork=no_fork,
            workspace=workspace,
        )
    )
    assert made is not None
    return made


def test_a_command_is_run_in_the_folder_and_its_exit_code_is_told(
    world: World, workspace: LocalWorkspace
) -> None:
    shell = tool("shell", workplace(world, workspace))

    good = use(shell, {"command": "echo one > a.txt; ls"})
    bad = use(shell, {"command": "echo wrong >&2; exit 3"})

    assert (good.output, good.exit_code, good.is_error, good.source) == ("a.txt\n[exit code 0]", 0, False, "")
    assert (bad.output, bad.exit_code, bad.is_error) == ("wrong\n[exit code 3]", 3, True)


def test_what_a_command_prints_is_heard_while_it_runs(world: World, workspace: LocalWorkspace) -> None:
    heard: list[tuple[str, str]] = []
    made = workplace(world, workspace, on_output=lambda call_id, piece: heard.append((call_id, piece)))

    use(tool("shell", made), {"command": "echo one"}, call_id="c7")

    assert "".join(piece for _, piece in heard) == "one\n"
    assert {call_id for call_id, _ in heard} == {"c7"}


@pytest.mark.parametrize("asked", [{}, {"timeout_seconds": 1}])
def test_a_command_has_no_more_time_than_it_is_given(
    world: World, workspace: LocalWorkspace, asked: dict[str, int]
) -> None:
    made = workplace(world, workspace, limits=replace(LIMITS, call_seconds_max=0.3))

    outcome = use(tool("shell", made), {"command": "echo begun; sleep 5; echo late", **asked})

    assert outcome.output == "begun\n[ended after 0.3 s: its time was over]"
    assert (outcome.exit_code, outcome.is_error) == (None, True)


def test_a_command_ends_with_the_time_of_the_run(world: World, workspace: LocalWorkspace) -> None:
    clock = FakeClock()
    deadline = Deadline(Event(), clock, 10)

    def printed(_call: str, _piece: str) -> None:
        clock.advance(seconds=11)

    made = workplace(world, workspace, on_output=printed)

    outcome = use(tool("shell", made), {"command": "echo begun; sleep 60"}, stop=deadline)

    assert outcome.output == "begun\n[ended: the run was stopped]"


def test_the_time_that_a_call_may_ask_for_is_that_of_a_command(
    world: World, workspace: LocalWorkspace
) -> None:
    shell = tool("shell", workplace(world, workspace, limits=replace(LIMITS, call_seconds_max=45.0)))
    parameters = shell.spec.parameters["properties"]

    assert isinstance(parameters, dict)
    assert parameters["timeout_seconds"]["maximum"] == 45


def test_files_are_written_edited_and_read(world: World, workspace: LocalWorkspace) -> None:
    made = workplace(world, workspace)

    new = use(tool("write_file", made), {"path": "src/a.txt", "content": "one\ntwo\none\n"})
    again = use(tool("write_file", made), {"path": "src/a.txt", "content": "one\ntwo\none\n"})
    once = use(tool("edit_file", made), {"path": "src/a.txt", "old_text": "two", "new_text": "2"})
    all_ = use(
        tool("edit_file", made), {"path": "src/a.txt", "old_text": "one", "new_text": "", "everywhere": True}
    )
    read = use(tool("read_file", made), {"path": "src/a.txt"})
    names = use(tool("read_file", made), {"path": "src"})

    assert [outcome.output for outcome in (new, again, once, all_, read, names)] == [
        "src/a.txt is new: 12 characters",
        "src/a.txt is rewritten: 12 characters",
        "src/a.txt is changed in 1 place",
        "src/a.txt is changed in 2 places",
        "\n2\n\n",
        "a.txt\n",
    ]
    assert (Path(workspace.folder) / "src" / "a.txt").read_text() == "\n2\n\n"


@pytest.mark.parametrize("path", ["../out.txt", "/etc/passwd", "link/x", "", "a\0b"])
@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file"])
def test_nothing_outside_of_the_folder_is_touched(
    world: World, workspace: LocalWorkspace, tmp_path: Path, path: str, name: str
) -> None:
    (tmp_path / "out.txt").write_text("keep")
    (Path(workspace.folder) / "link").symlink_to(tmp_path)
    given_arguments = {
        "read_file": {},
        "write_file": {"content": "x"},
        "edit_file": {"old_text": "keep", "new_text": "x"},
    }[name]
    made = tool(name, workplace(world, workspace))

    if path:
        with pytest.raises(RunloreError) as caught:
            use(made, {"path": path, **given_arguments})
        assert caught.value.code.startswith("workspace.")
    else:
        with pytest.raises(AssertionError):
            use(made, {"path": path, **given_arguments})
    assert (tmp_path / "out.txt").read_text() == "keep"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text("ab \u2028\x0c", max_size=60), max_size=60),
    chars_max=st.integers(250, 1_500),
    first=st.integers(1, 70),
    ends=st.booleans(),
)
def test_a_long_file_can_be_read_to_its_end_part_by_part(
    workspace: LocalWorkspace, lines: list[str], chars_max: int, first: int, ends: bool
) -> None:
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    workspace.write("long.txt", text)
    reading = reads(workspace, chars_max)

    read: list[str] = []
    at: int | None = first
    for _ in range(100):
        if at is None:
            break
        output = use(reading, {"path": "long.txt", "first_line": at}).output
        body, mark, note = output.rpartition("\n[lines ")
        if output.startswith(("(it is empty", "(there is no line")):
            break
        if not mark:
            read += output.removesuffix("\n").split("\n")
            break
        assert len(output) <= chars_max
        read += body.split("\n")
        at = int(note.partition("first_line ")[2].rstrip("]")) if "first_line" in note else None

    whole = text.removesuffix("\n").split("\n") if text else []
    assert read == whole[first - 1 :]


def test_a_file_that_is_not_the_workspaces_own_names_where_it_was_read(tmp_path: Path) -> None:
    plain, packaged = tmp_path / "app", tmp_path / "node_modules" / "left-pad"
    for folder in (plain, packaged):
        folder.mkdir(parents=True)
        (folder / "README.md").write_text("Read me")
    workspaces = LocalWorkspaces(environment=environment(tmp_path))

    own, other = (
        use(reads(workspaces.open(str(folder)), LIMITS.output_chars_max), {"path": "README.md"})
        for folder in (plain, packaged)
    )

    assert own.source == ""
    assert other.source.endswith("node_modules/left-pad/README.md")
