"""Learnings that speak of a repository wait for a person when what they name is there no longer (VAL-5)."""

import subprocess
from pathlib import Path

import pytest

from runlore.daemon.background.maintenance import enforce_policies
from runlore.daemon.calls.working_folders import working_folder
from runlore.domain.project import folder_id
from runlore.domain.record import Record
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.builders import fact
from tests.flow.learnings import TALK, learn, preview
from tests.world import World

pytestmark = pytest.mark.req("VAL-5")


PROJECT = "acme"


class Repository:
    """A real one, with a commit for each change."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        command = ["git", *who, *arguments]
        return subprocess.run(
            command, cwd=self.top, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, **files: str | None) -> str:
        for name, text in files.items():
            path = self.top / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "A change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(world: World, tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "work" / "acme")
    made.commit(docs__api="The API\n", Makefile="check:\n\ttrue\n")
    bind(world, made)
    return made


def bind(
    world: World, repository: Repository, *, session_id: SessionId = TALK, project: str = PROJECT
) -> None:
    folder = str(repository.top)
    world.operator.put_folder(ops.FolderChange(folder_id=folder_id(folder), project=project))
    world.operator.create_session(ops.NewSession(session_id=session_id, working_folder=folder))


def say(world: World, text: str, project: str = PROJECT) -> Record:
    scope = Scope(ScopeKind.PROJECT, project)
    return learn(world, fact(text, scope=scope, created_at=world.clock.now()))


def look(world: World) -> list[tuple[str, str]]:
    """A day goes by, and what waits to be looked at again since."""
    world.clock.advance(days=2)
    enforce_policies(world.parts, source="an hour has passed")
    kinds = frozenset({ops.InboxKind.REVALIDATION})
    return [(item.id, item.why) for item in world.operator.inbox(ops.InboxRequest(kinds=kinds)).items]


def given(world: World) -> str:
    return "".join(
        section.text
        for section in preview(world, "Where is the API documented, and what checks it?").sections
    )


def test_what_is_gone_waits_with_what_changed_and_says_so_where_it_is_given(
    world: World, repository: Repository
) -> None:
    learning = say(world, "The API is documented in docs/api and checked by `make check`")
    other = say(world, "The API is reviewed on Mondays by and/or with docs/none")
    assert look(world) == []
    first = repository.git("rev-parse", "HEAD")
    repository.commit()
    repository.commit(Makefile="test:\n\ttrue\n")
    assert "may no longer hold" not in given(world)

    [(waiting, why)] = look(world)
    assert waiting == learning.record_id != other.record_id
    assert why == f"make check is no longer a task, last seen true at {first[:7]}, 2 commits ago"
    assert f"may no longer hold: {why}" in given(world)
    assert world.operator.get_learning(learning.record_id).state == learning.state, "a person decides"

    # Another look says nothing new, and whoever vouches for it is not asked the same again.
    history = world.operator.history(learning.record_id)
    assert look(world) == [(waiting, why)]
    assert world.operator.history(learning.record_id) == history
    world.operator.verify(ops.VerifyRequest(record_id=learning.record_id, on_my_word=True))
    assert look(world) == []
    assert "may no longer hold" not in given(world)
    # What goes next is asked about.
    repository.commit(docs__api=None)
    [(_, why)] = look(world)
    assert why.startswith("docs/api is gone; make check is no longer a task, last seen true at ")


def test_what_is_there_again_is_no_longer_asked_about(world: World, repository: Repository) -> None:
    learning = say(world, "The API is documented in docs/api")
    assert look(world) == []
    repository.commit(docs__api=None)
    assert len(look(world)) == 1
    repository.commit(docs__api="Again\n")
    assert look(world) == []
    after = world.operator.get_learning(learning.record_id)
    assert (after.revalidate_at, after.metadata) == (None, learning.metadata)


def test_another_branch_concludes_nothing(world: World, repository: Repository) -> None:
    say(world, "The API is documented in docs/api")
    repository.git("branch", "older")
    repository.commit(src="new\n")
    assert look(world) == []
    repository.git("checkout", "-q", "older")
    repository.commit(docs__api=None)
    assert look(world) == []
    repository.git("checkout", "-q", "main")
    assert look(world) == []


def test_a_folder_that_nobody_bound_is_not_looked_at(world: World, tmp_path: Path) -> None:
    stranger = Repository(tmp_path / "stranger")
    stranger.commit(docs__api="The API\n")
    folder = str(stranger.top)
    world.operator.create_session(ops.NewSession(session_id=TALK, working_folder=folder))
    say(world, "The API is documented in docs/api", working_folder(folder).project)
    assert look(world) == []
    stranger.commit(docs__api=None)
    assert look(world) == []


def test_nothing_of_the_folder_is_run_and_no_link_is_followed(world: World, repository: Repository) -> None:
    marker = repository.top.parent / "ran"
    hook = repository.top / ".git" / "run"
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "diff.external"):
        repository.git("config", name, str(hook))
    outside = repository.top.parent / "outside.sh"
    outside.write_text("--fast\n")
    (repository.top / "tool.sh").symlink_to(outside)
    say(world, "`tool.sh --fast` checks the API")
    marker.unlink(missing_ok=True)
    assert look(world) == []
    outside.write_text("nothing\n")
    assert look(world) == [], "what lies outside was never read"
    assert not marker.exists()


def test_a_link_in_the_middle_of_a_path_is_not_followed_either(world: World, repository: Repository) -> None:
    outside = repository.top.parent / "outside"
    outside.mkdir()
    (outside / "tool.sh").write_text("--fast\n")
    (outside / "pins.txt").write_text("cython==0.27.3\n")
    for name in ("tools", "requirements"):
        (repository.top / name).symlink_to(outside)
    say(world, "`tools/tool.sh --fast` checks the API, which is built with cython 0.27")
    assert look(world) == []
    (outside / "tool.sh").write_text("nothing\n")
    (outside / "pins.txt").write_text("cython==3.0.0\n")
    assert look(world) == []


def test_pins_are_found_where_projects_keep_them(world: World, repository: Repository) -> None:
    repository.commit(requirements__ci="a folder needs a file\n")
    pins = repository.top / "requirements" / "ci.txt"
    development = repository.top / "dev-requirements.txt"
    pins.write_text("cython==0.27.3\n")
    development.write_text("pytest==3.4.0\n")
    say(world, "We are on cython 0.27")
    say(world, "Tests need pytest 3.4")
    assert look(world) == []
    pins.write_text("cython==3.0.1\n")
    development.write_text("pytest==8.0.0\n")
    repository.commit()
    assert sorted(why.partition(", last")[0] for _, why in look(world)) == [
        "cython is no longer at 0.27 but at 3.0",
        "pytest is no longer at 3.4 but at 8.0",
    ]


def test_the_doctor_says_what_no_longer_holds_and_writes_nothing(
    world: World, repository: Repository
) -> None:
    learning = say(world, "The API is documented in docs/api")
    assert look(world) == []
    repository.commit(docs__api=None)
    before = world.operator.history(learning.record_id)
    found = [each for each in world.operator.doctor(repair=True).findings if each.check == "still true"]
    assert [(each.outcome, each.detail) for each in found] == [
        ("notice", f"{learning.record_id}: docs/api is gone")
    ]
    assert world.operator.history(learning.record_id) == before


def test_what_is_noted_of_a_forgotten_learning_holds_none_of_its_words(
    world: World, repository: Repository
) -> None:
    learning = say(world, "The API is documented in docs/api")
    assert look(world) == []
    with world.parts.store.snapshot() as snapshot:
        noted = snapshot.counters.note(f"staleness:{folder_id(str(repository.top))}")
    assert noted is not None
    assert learning.record_id in noted
    assert "api" not in noted
