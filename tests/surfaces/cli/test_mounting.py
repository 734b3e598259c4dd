"""Mounting on the command line: copies where agents look, kept up to date, removed without a trace."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from runlore.daemon.skills.mount_notes import NAME, Mount, MountNotes
from runlore.daemon.skills.mounting import MountFollower, MountManager
from runlore.domain.errors import Conflict
from runlore.domain.skill import SkillMove
from runlore.flow.skills.machines import read_mounts
from runlore.storage.open import open_store
from tests.fakes import START
from tests.surfaces.api_client import Api
from tests.surfaces.client.test_reach import At, address
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.skill_files_of import skill_md

pytestmark = pytest.mark.req("INT-3", "SUR-7")

BOTH = (".agents/skills", ".claude/skills")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of somebody's."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def usable(runlore: Runlore, name: str = "tidy-up", **said: str) -> None:
    """A skill that agents may have."""
    file = runlore.home.parent / f"{name}.md"
    file.write_text(skill_md(name, **said))
    runlore.json("skill", "import", str(file))
    runlore.json("skill", "promote", name, "--force")


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def states(answer: Json) -> set[tuple[str, str]]:
    """What was done with which skill."""
    return {(item["name"], item["state"]) for item in answer["items"]}


def test_skills_are_put_where_every_agent_looks_and_taken_away_without_a_trace(
    embedded: Runlore, project: Path
) -> None:
    usable(embedded)
    usable(embedded, "second")
    (project / "README.md").write_text("mine")
    before = tree(project)

    planned = embedded.json("skill", "mount", "--project", str(project), "--dry-run")
    assert tree(project) == before
    assert not (embedded.home / NAME).exists()
    done = embedded.json("skill", "mount", "--project", str(project))

    assert planned == {**done, "dry_run": True}
    assert states(done) == {("tidy-up", "written"), ("second", "written")}
    for folder in BOTH:
        assert (project / folder / "tidy-up" / "SKILL.md").is_file()
        assert not (project / folder / "tidy-up" / "SKILL.md").is_symlink()
    again = embedded.json("skill", "mount")
    assert states(again) == {("tidy-up", "unchanged"), ("second", "unchanged")}
    removed = embedded.json("skill", "unmount")
    assert states(removed) == {("tidy-up", "removed"), ("second", "removed")}
    assert tree(project) == before
    assert sorted(os.listdir(project)) == [".git", "README.md"]
    assert not (embedded.home / NAME).exists()
    assert embedded.json("skill", "unmount")["items"] == []


def test_every_change_of_skills_reaches_the_folders_where_they_are_mounted(
    embedded: Runlore, project: Path
) -> None:
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    folder = project / ".agents" / "skills"

    def mounted() -> list[str]:
        return sorted(os.listdir(folder) if folder.is_dir() else [])

    assert mounted() == []
    usable(embedded)
    assert "tidy-up" in mounted()
    embedded.json("skill", "delete", "tidy-up")
    assert "tidy-up" not in mounted()
    embedded.json("skill", "restore", "tidy-up")
    assert "tidy-up" in mounted()
    assert not (project / ".claude").exists()


def test_a_skill_from_outside_is_never_mounted(embedded: Runlore, project: Path) -> None:
    file = embedded.home.parent / "outside.md"
    file.write_text(skill_md("outside"))
    embedded.json("skill", "import", str(file))

    assert embedded.json("skill", "mount", "--project", str(project))["items"] == []

    shown = embedded.text("skill", "mount", "--project", str(project))
    assert "There are no skills yet" in shown
    assert not list(project.rglob("SKILL.md"))


def test_what_somebody_wrote_is_left_and_what_drifted_is_repaired(embedded: Runlore, project: Path) -> None:
    usable(embedded)
    usable(embedded, "second")
    own = project / ".agents" / "skills" / "tidy-up" / "SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text("my own words")
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    copy = project / ".agents" / "skills" / "second" / "SKILL.md"
    written = copy.read_text()
    copy.unlink()

    shown = embedded.text("skill", "mount")
    embedded.json("skill", "unmount")

    assert "left" in shown
    assert "repaired" in shown or "written" in shown
    assert own.read_text() == "my own words"
    assert not copy.exists()
    assert written


def test_no_place_is_taken_unless_it_is_named(
    embedded: Runlore, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usable(embedded)
    monkeypatch.chdir(project)
    before = tree(project)

    failure = embedded.fails("skill", "mount")

    assert (failure.exit_code, failure.code) == (2, "skill.mount-place")
    assert f"runlore skill mount --project {project}" in failure.said
    assert "--user" in failure.said
    assert tree(project) == before


def test_the_folders_of_the_user_are_those_of_the_home(embedded: Runlore, clean_home: Path) -> None:
    usable(embedded)

    embedded.json("skill", "mount", "--user")

    assert [(clean_home / folder / "tidy-up" / "SKILL.md").is_file() for folder in BOTH] == [True, True]
    embedded.json("skill", "unmount", "--user", "--agent", "claude-code")
    assert [(clean_home / folder).exists() for folder in BOTH] == [True, False]
    assert embedded.json("skill", "unmount", "--agent", "codex")["items"]
    assert not (clean_home / ".agents").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("mount", "--project", "x", "--user"), "usage"),
        (("mount", "--project", ""), "usage"),
        (("mount", "--user", "--agent", "bob"), "skill.mount-agent"),
        (("mount", "--project", "/nowhere/at/all"), "skill.mount-folder"),
        (("mount", "--project", "/nowhere/at/all", "--dry-run"), "skill.mount-folder"),
    ],
)
def test_a_place_that_cannot_be_is_refused(embedded: Runlore, words: tuple[str, ...], code: str) -> None:
    assert embedded.fails("skill", *words).code == code
    assert not (embedded.home / NAME).exists()


def test_a_folder_that_cannot_be_brought_up_to_date_is_told_and_the_change_is_made(
    embedded: Runlore, project: Path
) -> None:
    usable(embedded)
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    folder = project / ".agents" / "skills"
    embedded.json("skill", "unmount", "--dry-run")
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    folder.rmdir()
    folder.write_text("a file where the folder was")

    shown = embedded.text("skill", "delete", "tidy-up")

    assert "Deleted tidy-up" in shown
    assert f"Not up to date: {folder}" in shown
    assert embedded.items("skill", "list") == []


def test_a_project_that_is_gone_is_forgotten_when_it_is_unmounted(embedded: Runlore, project: Path) -> None:
    usable(embedded)
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    project.rename(project.with_name("moved"))

    assert embedded.json("skill", "unmount")["items"] == []
    assert not (embedded.home / NAME).exists()


def test_a_folder_holds_the_skills_of_one_runlore(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    folder = str(tmp_path / "project" / ".agents" / "skills")
    ours = MountManager(str(tmp_path / "state"))
    theirs = MountManager(str(tmp_path / "state"), source="https://example.org")
    ours.mount([folder], {"tidy-up": skill_md()})

    with pytest.raises(Conflict) as mounting:
        theirs.mount([folder], {})
    with pytest.raises(Conflict):
        theirs.unmount([folder])

    assert mounting.value.code == "skill.mount-taken"
    assert (ours.folders(), theirs.folders()) == ((folder,), ())
    assert theirs.refresh({}).items == ()
    assert (tmp_path / "project" / ".agents" / "skills" / "tidy-up" / "SKILL.md").is_file()


def test_a_daemon_carries_every_change_over_and_mends_what_has_drifted(
    embedded: Runlore, project: Path
) -> None:
    usable(embedded)
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    copy = project / ".agents" / "skills" / "tidy-up" / "SKILL.md"
    copy.unlink()
    store = open_store(database_url=None, state_root=str(embedded.home))
    with closing(store):
        follower = MountFollower(store, str(embedded.home))
        follower.follow()
        assert copy.is_file(), "a start mends what has drifted"
        for drift in (copy.unlink, lambda: copy.write_text(copy.read_text() + "more")):
            written = copy.read_bytes()
            drift()
            follower.follow()
            assert copy.read_bytes() == written, "and so does every later look"
        [edited] = copy.parent.glob("SKILL.edited-*")
        edited.unlink()
        with store.transaction() as tx:
            [skill] = tx.skills.active()
            gone = skill.apply_move(SkillMove.DELETE, at=START, actor="somebody")
            tx.skills.update(gone, expected_revision=skill.revision)
        (project / ".agents" / "skills" / "tidy-up").mkdir(parents=True, exist_ok=True)
        follower.follow()
        assert not copy.parent.exists()
        with store.transaction() as tx:
            back = gone.apply_move(SkillMove.RESTORE, at=START, actor="somebody")
            tx.skills.update(back, expected_revision=gone.revision)
        follower.follow()
        assert copy.is_file()


def test_without_a_daemon_every_command_about_skills_mends_the_copies(
    embedded: Runlore, project: Path
) -> None:
    usable(embedded)
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    folder = project / ".agents" / "skills"
    copy = folder / "tidy-up" / "SKILL.md"

    for words in (
        ("skill", "list"),
        ("skill", "view", "tidy-up"),
        ("skill", "match", "tidy"),
        ("skill", "curate"),
        ("doctor", "--repair"),
    ):
        copy.unlink()
        embedded.json(*words)
        assert copy.is_file(), words
    mine = embedded.home / "skills" / "mine" / "SKILL.md"
    mine.parent.mkdir()
    mine.write_text(skill_md("mine"))
    embedded.json("skill", "list")
    assert (folder / "mine" / "SKILL.md").is_file(), "what was put into the root"
    mine.write_text(skill_md("mine", body="Edited by hand.\n"))
    embedded.json("skill", "view", "mine")
    assert "Edited by hand." in (folder / "mine" / "SKILL.md").read_text(), "what was edited there"


def test_who_only_looks_changes_no_copy(embedded: Runlore, project: Path) -> None:
    usable(embedded)
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    copy = project / ".agents" / "skills" / "tidy-up" / "SKILL.md"
    copy.unlink()

    assert states(embedded.json("skill", "mount", "--dry-run")) == {("tidy-up", "repaired")}
    assert embedded.run("doctor").code == 1
    assert not copy.exists()


def test_two_homes_share_a_project(embedded: Runlore, other: Runlore, project: Path) -> None:
    usable(embedded, "annas")
    usable(other, "bens")
    for home in (embedded, other, embedded):
        home.json("skill", "mount", "--project", str(project), "--agent", "codex")
    folder = project / ".agents" / "skills"

    assert sorted(os.listdir(folder)) == ["annas", "bens"]
    other.json("skill", "unmount")
    assert sorted(os.listdir(folder)) == ["annas"]


def test_unmounting_tells_what_it_left(embedded: Runlore, project: Path) -> None:
    usable(embedded)
    embedded.json("skill", "mount", "--project", str(project), "--agent", "codex")
    copy = project / ".agents" / "skills" / "tidy-up" / "SKILL.md"
    copy.write_text(copy.read_text() + "my own line")
    embedded.json("skill", "mount")
    [kept] = copy.parent.glob("SKILL.edited-*")

    shown = embedded.text("skill", "unmount")

    assert f"left tidy-up/{kept.name}, which somebody changed" in " ".join(shown.split())
    assert os.listdir(copy.parent) == [kept.name]


def test_files_beside_a_skill_are_not_mounted_and_that_is_said(embedded: Runlore, project: Path) -> None:
    usable(embedded)
    scripts = embedded.home / "skills" / "tidy-up" / "scripts"
    scripts.mkdir()
    (scripts / "run.py").write_text("print()")
    (scripts / "more.py").write_text("print()")

    shown = embedded.text("skill", "mount", "--project", str(project))
    answer = embedded.json("skill", "mount")

    assert "tidy-up: 2 other files not brought along: scripts/more.py, scripts/run.py" in shown
    assert answer["not_brought_along"] == {"tidy-up": ["scripts/more.py", "scripts/run.py"]}
    assert [path.name for path in (project / ".claude").rglob("*") if path.is_file()] == ["SKILL.md"]


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_unmounting_from_a_project_that_is_not_there_is_refused_as_mounting_is(
    embedded: Runlore, tmp_path: Path, dry_run: tuple[str, ...]
) -> None:
    words = ("--project", str(tmp_path / "typo"), *dry_run)
    failures = [embedded.fails("skill", act, *words) for act in ("mount", "unmount")]
    assert [(each.exit_code, each.code) for each in failures] == [(5, "skill.mount-folder")] * 2


def test_skills_of_a_runlore_elsewhere_follow_with_every_command_about_skills(
    embedded_api: Api, clean_home: Path, project: Path
) -> None:
    here = At(clean_home / "mine", RUNLORE_URL=address(embedded_api), RUNLORE_TOKEN=embedded_api.secret)
    usable(here)
    here.json("skill", "mount", "--project", str(project), "--agent", "codex")
    copy = project / ".agents" / "skills" / "tidy-up" / "SKILL.md"
    with embedded_api.operations.parts.store.snapshot() as snapshot:
        assert [*read_mounts(snapshot).values()] == [(str(copy.parent.parent),)], "the one over there knows"
    for words in (("skill", "list"), ("skill", "view", "tidy-up"), ("skill", "match", "tidy")):
        copy.unlink()
        here.json(*words)
        assert copy.is_file(), words
    embedded_api.operations.delete_skill("tidy-up")
    forgotten = here.propose("editor", "vim")
    here.json("memory", "forget", forgotten, "--yes")
    assert not copy.exists(), "forgetting over there reaches what is mounted here"
    usable(here)
    here.json("skill", "unmount")
    with embedded_api.operations.parts.store.snapshot() as snapshot:
        assert read_mounts(snapshot) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"format": 2, "mounts": [{"folder": "/x", "source": ""}]}',
        b'{"format": 1, "mounts": {"folder": "/x"}}',
        b'{"format": 1, "mounts": [{"folder": "x", "source": ""}, {"folder": 1}, 5, null]}',
        b"\xff" * 100,
        b" " * (1 << 21),
    ],
    ids=[str(number) for number in range(8)],
)
def test_a_damaged_list_of_mounts_is_an_empty_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    notes = MountNotes(str(tmp_path))
    mount = Mount(folder="/a/.agents/skills")

    assert notes.all() == ()
    notes.change(added=[mount])
    assert notes.all() == (mount,)
    notes.change(removed=[mount])
    assert notes.all() == ()
    assert not (tmp_path / NAME).exists()


def test_a_list_of_mounts_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"format": 1, "mounts": [{"folder": "/x/y", "source": ""}]}')
    root = tmp_path / "state"
    root.mkdir(mode=0o700)
    (root / NAME).symlink_to(other)

    assert MountNotes(str(root)).all() == ()
    MountNotes(str(root)).change(added=[Mount(folder="/a/b")])
    assert "/x/y" in other.read_text()
    assert not (root / NAME).is_symlink()
