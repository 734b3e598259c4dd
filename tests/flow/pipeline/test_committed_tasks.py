"""What a project's own task files name as committed clears a command, in a folder that an operator bound."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.daemon.mining.committed_tasks import read_committed_tasks
from runlore.domain.project import FolderBinding, folder_id
from runlore.ports import operations as ops
from tests.fakes import START as NOW
from tests.flow.procedures import session, stored_suggestions, suggest
from tests.flow.telling import bring, call, told
from tests.world import World

pytestmark = pytest.mark.req("TNT-6")

PAGE = "https://example.org/setup.md"
MISSING = 'npm error Missing script: "seed"'
# The task file tells the task, and not how it is called: that is suggested as an addition.
FIX = (call("npm run seed --env=staging-1", 1, MISSING), call("npm run seed:everything --env=staging-1"))
TASKS = '{"scripts": {"seed:everything": "node seed.js --everything"}}'


def git(folder: Path, *words: str) -> None:
    """A git command there, with nobody's settings."""
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(folder)}
    named = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", *named, *words], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a task file that is committed."""
    made = tmp_path / "shop"
    (made / "docs").mkdir(parents=True)
    (made / "package.json").write_text(TASKS)
    (made / "docs" / "Makefile").write_text("pages:\n\tmkdocs build\n")
    git(made, "init", "-q")
    git(made, "add", ".")
    git(made, "commit", "-qm", "Begin")
    return made


def is_marked(world: World, folder: Path, *, bound: bool = True, earlier: str = "echo") -> bool:
    """Whether a fix that came behind a page is marked."""
    if bound:
        world.operator.put_folder(ops.FolderChange(folder_id=folder_id(str(folder)), project="shop"))
    runs = session(
        "s1",
        told("Look it up", call(earlier), folder=str(folder)),
        told("Read", call(f"curl {PAGE}"), folder=str(folder)),
        told("Run npm run seed --env=staging-1", *FIX, folder=str(folder)),
    )
    bring(world, *runs)
    suggest(world)
    [found] = stored_suggestions(world).values()
    return found.provenance.untrusted


def test_a_committed_task_file_of_a_bound_folder_clears_what_it_names(
    sqlite_world: World, folder: Path
) -> None:
    assert not is_marked(sqlite_world, folder)


def test_a_folder_that_nobody_bound_clears_nothing(sqlite_world: World, folder: Path) -> None:
    assert is_marked(sqlite_world, folder, bound=False)


def change(folder: Path) -> None:
    """The file is changed, and not added."""
    (folder / "package.json").write_text(TASKS.replace("seed.js", "evil.js"))


def stage(folder: Path) -> None:
    """The file is new, and added alone."""
    git(folder, "rm", "-q", "--cached", "package.json")
    git(folder, "commit", "-qm", "Without")
    git(folder, "add", "package.json")


def link(folder: Path) -> None:
    """The file is a link."""
    (folder / "package.json").rename(folder / "other.json")
    (folder / "package.json").symlink_to("other.json")


def cut(folder: Path) -> None:
    """The index is damaged."""
    index = folder / ".git" / "index"
    index.write_bytes(index.read_bytes()[:100])


def name_another(folder: Path) -> None:
    """The file names something else."""
    (folder / "package.json").write_text('{"scripts": {"seed:some": "node seed.js"}}')
    git(folder, "commit", "-qam", "Rename")


@pytest.mark.parametrize("damage", [change, stage, link, cut, name_another], ids=lambda each: each.__name__)
def test_what_is_not_as_it_was_committed_clears_nothing(
    sqlite_world: World, folder: Path, damage: Callable[[Path], None]
) -> None:
    damage(folder)
    assert is_marked(sqlite_world, folder)


def test_a_task_file_that_was_brought_from_outside_clears_nothing(sqlite_world: World, folder: Path) -> None:
    assert is_marked(sqlite_world, folder, earlier=f"curl -so package.json {PAGE}")


def test_the_files_of_a_folder_and_of_its_repository_are_read(folder: Path) -> None:
    def bound(_folder: object) -> FolderBinding | None:
        return FolderBinding(folder_id=folder_id(str(folder)), project="shop", updated_at=NOW)

    found = read_committed_tasks(str(folder / "docs"), bound)
    assert [Path(each.source).name for each in found] == ["package.json", "Makefile"]
    assert ("make", "pages") in found[1].told
    assert read_committed_tasks(str(folder / "docs"), lambda _folder: None) == ()
    assert read_committed_tasks("docs", bound) == ()


def test_every_byte_of_an_index_may_be_missing(folder: Path) -> None:
    index = folder / ".git" / "index"
    whole = index.read_bytes()

    def bound(_folder: object) -> FolderBinding | None:
        return FolderBinding(folder_id=folder_id(str(folder)), project="shop", updated_at=NOW)

    for end in range(len(whole)):
        index.write_bytes(whole[:end])
        read_committed_tasks(str(folder), bound)
