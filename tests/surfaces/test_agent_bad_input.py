"""Runlore's own agent with what goes wrong at other people's machines: told in one line, with what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flow.child_scene import repository
from tests.model_server import KEY, KEY_VARIABLE, Script, calls, fails, model_server, says
from tests.surfaces.agent_runs import MARKER, Working
from tests.surfaces.command_line import Json, Runlore

ALLOWED = '[agent.approval]\nshell = "allow"'
DENIED = '[agent.approval]\nshell = "allow"\ndeny = ["make release*"]'


@pytest.fixture
def project(disk_path: Path) -> Path:
    """A project under git, on a disk: what is outside of it is not open to commands there."""
    return repository(disk_path / "project")


@contextmanager
def told(home: Path, *script: Script, more: str = ALLOWED) -> Iterator[Working]:
    """A Runlore whose model says these lines."""
    with model_server(*script) as server:
        yield Working(home / "runlore", server, more)


@pytest.mark.req("AGT-3")
@pytest.mark.parametrize("words", [("run", "Go", "--no-folder"), ("skill", "rollout", "trial", "one", "Go")])
def test_without_a_provider_it_is_said_what_to_set_and_nothing_is_written(
    embedded: Runlore, words: tuple[str, ...]
) -> None:
    _promoted(embedded)
    before = embedded.contents()["tables"]

    failure = embedded.fails(*words)

    assert (failure.exit_code, failure.code) == (3, "model.none")
    assert "config.toml" in failure.said
    assert "\n" not in str(failure.problem["detail"])
    assert embedded.contents()["tables"] == before


@pytest.mark.req("AGT-2")
def test_a_missing_key_names_its_variable_before_anything_is_asked(clean_home: Path) -> None:
    with model_server(says("Hello.")) as server:
        runlore = Runlore(Working(clean_home / "runlore", server).home)
        failure = runlore.fails("run", "Go", "--no-folder")

        assert (failure.exit_code, failure.code) == (3, "model.key")
        assert KEY_VARIABLE in failure.said
        assert server.requests == []


@pytest.mark.req("AGT-2")
@pytest.mark.parametrize("is_trial", [False, True])
def test_a_wrong_key_names_its_variable_and_is_never_shown(
    clean_home: Path, project: Path, is_trial: bool
) -> None:
    with told(clean_home, fails(401, message=f"wrong key {KEY}")) as runlore:
        _promoted(runlore)
        words = ("skill", "rollout", "trial", "one", "Go") if is_trial else ("run", "Go")
        done = runlore.run(*words, "--folder", str(project))

    assert done.code == 1
    assert KEY_VARIABLE in done.err + done.out
    assert KEY not in done.err + done.out
    assert not [
        path for path in runlore.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]


@pytest.mark.req("AGT-2")
def test_a_model_that_the_provider_does_not_know_is_named(clean_home: Path) -> None:
    with told(clean_home, fails(404, code="model_not_found")) as runlore:
        done = runlore.run("run", "Go", "--no-folder", "--model", "test:gone")

    assert done.code == 1
    assert "[model.unknown]" in done.err
    assert "gone" in done.err


@pytest.mark.req("AGT-4")
@pytest.mark.parametrize(
    "asked",
    [
        calls("read_file", {"path": "../outside.txt"}),
        calls("write_file", {"path": "../outside.txt", "content": "mine"}),
        calls("edit_file", {"path": "../outside.txt", "old_text": "theirs", "new_text": "mine"}),
        calls("shell", {"command": "cat ../outside.txt; echo mine > ../outside.txt"}),
    ],
    ids=["read", "write", "edit", "shell"],
)
def test_a_tool_that_is_asked_outside_the_folder_does_nothing_there_and_the_run_goes_on(
    clean_home: Path, project: Path, asked: Script
) -> None:
    outside = project.parent / "outside.txt"
    outside.write_text("theirs\n")
    with told(clean_home, asked, says("I could not.")) as runlore:
        ended = runlore.json("run", "Go", "--folder", str(project), "--yes")

        assert (ended["run"]["status"], ended["final_output"]) == ("completed", "I could not.")
        (result,) = [each for each in _journal(runlore, ended) if each["type"] == "tool_result"]
        assert result["body"]["is_error"] is True
        assert "theirs" not in str(result)
    assert outside.read_text() == "theirs\n"


@pytest.mark.req("AGT-4")
def test_a_command_that_is_denied_is_not_run_whatever_is_said_at_the_command_line(
    clean_home: Path, project: Path
) -> None:
    (project / "Makefile").write_text("release:\n\t@touch released\n")
    with told(
        clean_home, calls("shell", {"command": "make release"}), says("Not done."), more=DENIED
    ) as runlore:
        ended = runlore.json("run", "Release it", "--folder", str(project), "--yes")
        (result,) = [each for each in _journal(runlore, ended) if each["type"] == "tool_result"]

    assert ended["run"]["status"] == "completed"
    assert result["body"]["is_error"] is True
    assert "make release*" in str(result["body"]["output"])
    assert not (project / "released").exists()


@pytest.mark.req("ROL-12")
@pytest.mark.parametrize("stands", ["a folder", "a file", "a link"])
def test_what_stands_where_copies_are_made_is_left_alone(
    clean_home: Path, project: Path, stands: str
) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    place = project / ".runlore-worktrees"
    if stands == "a folder":
        (place / "one").mkdir(parents=True)
        (place / "one" / "mine.txt").write_text("mine\n")
    elif stands == "a file":
        place.write_text("mine\n")
    else:
        place.symlink_to(elsewhere)
    with told(clean_home, calls("shell", {"command": "./check"}), says(MARKER)) as runlore:
        _promoted(runlore)
        done = runlore.run("skill", "rollout", "trial", "one", "Go", "--folder", str(project))

    if stands == "a folder":
        assert (done.code, MARKER in done.out) == (0, True)
        assert [path.name for path in (place / "one").iterdir()] == ["mine.txt"]
    else:
        assert done.code not in (0, 1), done
        assert ".runlore-worktrees" in done.err
        assert (place.is_symlink(), list(elsewhere.iterdir())) == (stands == "a link", [])


@pytest.mark.req("ROL-12")
def test_a_folder_that_is_no_repository_is_copied_for_a_trial(clean_home: Path, disk_path: Path) -> None:
    plain = disk_path / "plain"
    plain.mkdir()
    (plain / "notes.txt").write_text("one\n")
    command = "echo two >> notes.txt"
    with told(clean_home, calls("shell", {"command": command}), says(MARKER)) as runlore:
        _promoted(runlore)
        tried = runlore.json("skill", "rollout", "trial", "one", "Go", "--folder", str(plain))
        kept = runlore.items("session", "run", "artifacts", tried["run"]["run_id"])
        (diff,) = [each["artifact_id"] for each in kept if each["name"] == "diff.patch"]

        assert " one\n+two" in runlore.text("session", "run", "artifact", diff)
    assert tried["run"]["status"] == "completed"
    assert {each.name: each.read_text() for each in plain.iterdir()} == {"notes.txt": "one\n"}


def _promoted(runlore: Runlore) -> None:
    """A procedure as a draft called `one`."""
    made = runlore.json("learning", "candidates", "create", "Run the check", "--kind", "procedure")
    published = runlore.json("learning", "candidates", "publish", made["record_id"])
    runlore.json("skill", "rollout", "start", published["record_id"], "one", f"Run ./check and say {MARKER}")


def _journal(runlore: Runlore, ended: Json) -> list[Json]:
    return runlore.items("session", "run", "journal", ended["run"]["run_id"])
