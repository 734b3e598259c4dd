"""The project of a working folder: its git remote, its repository, itself, or what its file says."""

import os
import subprocess
from pathlib import Path

import pytest

from runlore.daemon.calls.working_folders import working_folder
from runlore.domain.errors import Invalid
from runlore.domain.project import project_id
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.world import World, outcome

pytestmark = pytest.mark.req("SCO-5")


def git(folder: Path, *arguments: str) -> None:
    """Run git as nobody in particular."""
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    made = tmp_path / "work"
    made.mkdir()
    return made


def test_a_folder_alone_is_its_own_project(folder: Path) -> None:
    found = working_folder(str(folder))

    assert found.project == project_id(remote=None, repository_root=None, folder=str(folder))
    assert (found.path, found.capture) == (str(folder), True)
    assert working_folder(f"{folder}/").project == found.project
    assert working_folder(str(folder / "sub")).project != found.project


def test_a_repository_without_a_remote_is_one_project_from_everywhere_in_it(folder: Path) -> None:
    git(folder, "init", "-q")
    (folder / "src").mkdir()

    found = {working_folder(str(path)).project for path in (folder, folder / "src")}

    assert found == {project_id(remote=None, repository_root=str(folder), folder=str(folder))}


@pytest.mark.parametrize(
    "url",
    ["https://github.com/Acme/Tools.git", "git@github.com:acme/tools", "ssh://git@github.com/acme/tools/"],
)
def test_the_remote_names_the_project_however_it_is_spelt(folder: Path, url: str) -> None:
    git(folder, "init", "-q")
    git(folder, "remote", "add", "backup", "https://example.org/other.git")
    git(folder, "remote", "add", "origin", url)

    assert working_folder(str(folder)).project == "github.com/acme/tools"


def test_a_remote_by_another_name_serves_too(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "remote", "add", "upstream", "https://user:password@example.org/acme/tools.git")

    assert working_folder(str(folder)).project == "example.org/acme/tools"


def test_a_worktree_belongs_to_its_repository(folder: Path, tmp_path: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://example.org/acme/tools")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))

    assert working_folder(str(tmp_path / "tree")).project == "example.org/acme/tools"


def test_a_project_file_names_it_and_the_nearest_wins(folder: Path) -> None:
    git(folder, "init", "-q")
    inner = folder / "inner"
    inner.mkdir()
    (folder / ".runlore.toml").write_text('project = "outer"\n')
    (inner / ".runlore.toml").write_text('project = "inner"\n')

    assert working_folder(str(folder)).project == "outer"
    assert working_folder(str(inner)).project == "inner"


def test_whoever_says_no_on_the_way_up_is_heard(folder: Path) -> None:
    git(folder, "init", "-q")
    inner = folder / "inner"
    inner.mkdir()
    (folder / ".runlore.toml").write_text("capture = false\n")
    (inner / ".runlore.toml").write_text("capture = true\n")

    assert not working_folder(str(inner)).capture


def test_a_file_above_a_folder_without_a_repository_says_nothing_about_it(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (folder / ".runlore.toml").write_text('project = "outer"\n')

    assert working_folder(str(inner)).project != "outer"


@pytest.mark.parametrize("path", ["work", "./work", "", "/a\0b", "/" + "x" * 5_000])
def test_a_folder_is_named_by_its_absolute_path(path: str) -> None:
    with pytest.raises(Invalid) as refused:
        working_folder(path)

    assert refused.value.code == "session.folder"


def test_a_project_file_that_cannot_be_read_is_not_taken_for_a_yes(folder: Path) -> None:
    (folder / ".runlore.toml").mkdir()

    with pytest.raises(Invalid) as refused:
        working_folder(str(folder))

    assert refused.value.code == "project-file.unreadable"


def test_a_pipe_or_a_device_in_place_of_a_file_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / ".git")
    (folder / ".runlore.toml").symlink_to("/dev/zero")

    with pytest.raises(Invalid):
        working_folder(str(folder))


def test_a_session_is_linked_to_the_project_of_its_folder_in_addition(world: World, folder: Path) -> None:
    (folder / ".runlore.toml").write_text('project = "tools"\n')

    session = world.session(project_ids=("acme",), working_folder=str(folder))

    assert session.binding.project_ids == ("acme", "tools")
    assert session.working_folder == str(folder)
    again = world.session(project_ids=("acme",), working_folder=str(folder))
    assert again == session


@pytest.mark.req("SCO-5")
def test_a_key_that_means_nothing_is_warned_of_once_and_the_rest_holds(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / ".runlore.toml").write_text('captrue = false\nproject = "tools"\n')

    found = [working_folder(str(folder)) for _ in range(3)]

    assert {(each.project, each.capture) for each in found} == {("tools", True)}
    (warned,) = [record.getMessage() for record in caplog.records]
    assert str(folder / ".runlore.toml") in warned
    assert "'captrue'" in warned


def test_a_bad_project_file_makes_no_session(world: World, folder: Path) -> None:
    (folder / ".runlore.toml").write_text("capture = 1\n")

    assert outcome(lambda: world.session(working_folder=str(folder))) == "project-file.capture"
    assert outcome(lambda: world.operator.get_session(SessionId("talk"))) == "session.not-found"


@pytest.mark.req("CAP-7")
@pytest.mark.parametrize("repository", [None, ".", "inner"])
def test_a_no_above_a_folder_is_heard_with_and_without_a_repository(
    folder: Path, repository: str | None
) -> None:
    inner = folder / "inner" / "deep"
    inner.mkdir(parents=True)
    if repository is not None:
        git(folder / repository, "init", "-q")
    assert working_folder(str(inner)).capture

    (folder / ".runlore.toml").write_text('project = "outer"\ncapture = false\n')

    found = working_folder(str(inner))
    assert not found.capture
    assert (found.project == "outer") is (repository == ".")


@pytest.mark.req("CAP-7")
@pytest.mark.parametrize("text", ["capture = false\n", "capture = 1\n"])
def test_a_no_that_comes_after_the_session_was_made_is_heard_by_its_next_run(
    world: World, folder: Path, text: str
) -> None:
    inner = folder / "inner"
    inner.mkdir()
    world.session(working_folder=str(inner))
    asked = ops.NewRun(session_id=SessionId("talk"), request="Play the xylophone")
    (folder / ".runlore.toml").write_text(text)

    opened = world.operator.open_run(asked)

    scope = Scope(ScopeKind.SESSION, "talk")
    assert not opened.stored
    assert outcome(lambda: world.propose("tune", "xylophone", scope=scope)) == "session.private"
    assert "xylophone" not in repr(world.tables())
    (folder / ".runlore.toml").unlink()
    assert world.operator.open_run(asked).stored


@pytest.mark.req("SKL-4")
def test_a_project_without_a_name_is_called_as_its_repository_else_as_its_folder(folder: Path) -> None:
    inside = folder / "deep" / "down"
    inside.mkdir(parents=True)
    assert working_folder(str(inside)).name == "down"
    git(folder, "init", "-q")
    assert working_folder(str(inside)).name == "work"
    assert working_folder("/srv/nobody/has/this").name == "this"
