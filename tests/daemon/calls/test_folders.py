"""The project of a working folder: its git remote, its repository, itself, or what its file says."""

import os
import subprocess
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from runlore.daemon.calls.working_folders import allows_capture, proposal_of, working_folder
from runlore.domain.errors import Invalid
from runlore.domain.project import FolderBinding, FolderId, folder_id, project_id
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.flow.capture.sessions import find_binding
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


def bind(world: World, folder: Path, **fields: object) -> FolderBinding:
    """An operator's word about a folder."""
    return world.operator.put_folder(ops.FolderChange(folder_id=folder_id(str(folder)), **fields))  # type: ignore[arg-type]


@pytest.mark.req("SEC-2")
def test_a_worktree_elsewhere_is_of_its_repository_without_a_remote_too_where_both_say_so(
    folder: Path, tmp_path: Path
) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    git(folder, "worktree", "add", "-q", str(tmp_path / "beside"))
    (tmp_path / "liar").mkdir()
    (tmp_path / "liar" / ".git").write_text((tmp_path / "beside" / ".git").read_text())
    no = FolderBinding(folder_id=folder_id(str(folder)), capture=False, updated_at=datetime.now(UTC))

    def bound(asked: FolderId) -> FolderBinding | None:
        return no if asked == no.folder_id else None

    found = working_folder(str(tmp_path / "beside"), bound)

    assert found.project == working_folder(str(folder)).project
    assert not found.capture, "a no to the repository is one to its worktrees"
    assert not allows_capture(str(tmp_path / "beside"), bound)
    liar = working_folder(str(tmp_path / "liar"), bound)
    assert liar.project not in ("", found.project)
    assert liar.capture


def test_a_file_names_a_project_and_stops_capture_only_where_an_operator_bound_the_folder_to_it(
    world: World, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / ".runlore.toml").write_text('project = "acme"\ncapture = false\n')

    own = world.session("one", working_folder=str(folder))
    bind(world, folder, project="acme")
    named = world.session("two", working_folder=str(folder))
    bind(world, folder, project="acme", capture=False)
    quiet = world.session("three", working_folder=str(folder))

    assert own.binding.project_ids == (project_id(remote=None, repository_root=None, folder=str(folder)),)
    assert named.binding.project_ids == ("acme",)
    assert (own.private, named.private, quiet.private) == (False, False, True)
    warned = [record.getMessage() for record in caplog.records]
    assert ["project = 'acme' and capture = false" in each for each in warned] == [True, False]
    assert "runlore folder bind" in warned[0]


@pytest.mark.req("SEC-2")
def test_the_nearest_binding_names_the_project_and_a_no_on_the_way_up_is_heard(
    world: World, folder: Path
) -> None:
    inner = folder / "inner"
    inner.mkdir()
    bind(world, folder, project="outer", capture=False)
    bind(world, inner, project="inner", capture=True)

    with world.parts.store.snapshot() as snapshot:
        found = {path: working_folder(str(path), partial(find_binding, snapshot)) for path in (folder, inner)}

    assert [(each.project, each.capture) for each in found.values()] == [("outer", False), ("inner", False)]


@pytest.mark.req("SEC-2")
@pytest.mark.parametrize("name", ["acme ", " acme", "Acme", "acme\u200b", "acme\n", "acme."])
def test_a_folder_that_is_called_nearly_as_a_bound_one_is_its_own(
    world: World, tmp_path: Path, name: str
) -> None:
    bound, other = tmp_path / "acme", tmp_path / name
    for each in (bound, other):
        each.mkdir()
    bind(world, bound, project="acme", capture=False)

    with world.parts.store.snapshot() as snapshot:
        found = working_folder(str(other), partial(find_binding, snapshot))

    assert found.project.startswith("folder-")
    assert found.capture


@pytest.mark.req("SEC-2")
def test_a_binding_is_read_again_kept_once_and_an_operator_s_alone(world: World, folder: Path) -> None:
    made = bind(world, folder, project="acme")

    assert world.operator.get_folder(made.folder_id) == made
    assert world.operator.get_folder(FolderId(made.folder_id.replace("folder-", "repository-"))) == made
    assert bind(world, folder, project="acme") == made
    assert bind(world, folder, capture=True).revision == 2
    assert outcome(lambda: bind(world, folder, expected_revision=1)) == "folder.revision"
    assert outcome(lambda: world.operator.get_folder(folder_id("/other"))) == "folder.not-found"
    assert outcome(lambda: world.operator.get_folder(FolderId("../x"))) == "folder.id"


def test_what_the_files_on_the_way_up_propose(folder: Path) -> None:
    git(folder, "init", "-q")
    inner = folder / "inner"
    inner.mkdir()
    (folder / ".runlore.toml").write_text('project = "outer"\ncapture = false\n')
    (inner / ".runlore.toml").write_text('project = "inner"\ncapture = true\n')

    found = proposal_of(str(inner))

    assert (found.name, found.capture) == ("inner", False)
    assert working_folder(str(inner)).capture


@pytest.mark.parametrize("path", ["work", "./work", "", "/a\0b", "/" + "x" * 5_000])
def test_a_folder_is_named_by_its_absolute_path(path: str) -> None:
    with pytest.raises(Invalid) as refused:
        working_folder(path)

    assert refused.value.code == "session.folder"


def test_a_project_file_that_cannot_be_read_proposes_nothing_and_says_so(folder: Path) -> None:
    (folder / ".runlore.toml").mkdir()

    with pytest.raises(Invalid) as refused:
        proposal_of(str(folder))

    assert refused.value.code == "project-file.unreadable"


def test_a_pipe_or_a_device_in_place_of_a_file_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / ".git")
    (folder / ".runlore.toml").symlink_to("/dev/zero")

    working_folder(str(folder))
    with pytest.raises(Invalid):
        proposal_of(str(folder))


def test_a_session_is_linked_to_the_project_of_its_folder_in_addition(world: World, folder: Path) -> None:
    bind(world, folder, project="tools")

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

    found = [proposal_of(str(folder)) for _ in range(3)]

    assert {(each.name, each.capture) for each in found} == {("tools", True)}
    (warned,) = [record.getMessage() for record in caplog.records]
    assert str(folder / ".runlore.toml") in warned
    assert "'captrue'" in warned


@pytest.mark.req("CAP-7")
def test_a_no_that_comes_after_the_session_was_made_is_heard_by_its_next_run(
    world: World, folder: Path
) -> None:
    inner = folder / "inner"
    inner.mkdir()
    world.session(working_folder=str(inner))
    asked = ops.NewRun(session_id=SessionId("talk"), request="Play the xylophone")
    bind(world, folder, capture=False)

    opened = world.operator.open_run(asked)

    scope = Scope(ScopeKind.SESSION, "talk")
    assert not opened.stored
    assert outcome(lambda: world.propose("tune", "xylophone", scope=scope)) == "session.private"
    assert "xylophone" not in repr(world.tables())
    bind(world, folder)
    assert world.operator.open_run(asked).stored


@pytest.mark.req("SKL-4")
def test_a_project_without_a_name_is_called_as_its_repository_else_as_its_folder(folder: Path) -> None:
    inside = folder / "deep" / "down"
    inside.mkdir(parents=True)
    assert working_folder(str(inside)).name == "down"
    git(folder, "init", "-q")
    assert working_folder(str(inside)).name == "work"
    assert working_folder("/srv/nobody/has/this").name == "this"
