"""Skills whose files cannot be written, or whose writer dies: the row is right, and the file follows."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import Unavailable
from runlore.domain.record import RecordId
from runlore.domain.skill import SkillMove, SkillOrigin
from runlore.flow.skills.library import get_deleted_skill
from runlore.ports import operations as ops
from tests.flow.dying import Died
from tests.flow.kill_points import DyingStore, Fuse
from tests.flow.saved_skills import SLIPPED
from tests.flow.skill_shelf import (
    BODY,
    brought_in,
    files,
    library_on,
    operator_on,
    put_by_hand,
    rows,
    saved,
    skill_file,
    skill_text,
    two_alike,
)
from tests.flow.telling import suggested, suggestion, told
from tests.skill_files.disks import Crash, DyingDisk, FailingDisk, WatchedDisk
from tests.world import World

pytestmark = pytest.mark.req("SKL-8")
EDITED = skill_text("kept", "As somebody says it.")
Act = Callable[[Application], object]
ACTS: dict[str, Act] = {
    "save": lambda operator: operator.save_skill(ops.SaveSkill(suggestion="offered")),
    "import": lambda operator: operator.import_skill(
        ops.ImportSkill(text=skill_text("brought"), source="elsewhere")
    ),
    "promote": lambda operator: operator.accept_skill(ops.AcceptSkill(name="tainted", force=True)),
    "delete": lambda operator: operator.delete_skill("kept"),
    "restore": lambda operator: operator.restore_skill("gone"),
    "curate": lambda operator: operator.curate_skills(ops.CurateRequest(apply=True)),
    "undo": lambda operator: operator.undo_curation(None),
    "look": lambda operator: operator.list_skills(ops.SkillsRequest()),
}


def prepared(world: World, act: str) -> None:
    """Something for every act."""
    saved(world, "kept")
    if act == "save":
        suggested(world, "offered", suggestion=suggestion("offered", body=BODY + "more\n"))
    if act == "promote":
        brought_in(world, "tainted")
    if act == "restore":
        saved(world, "gone")
        world.operator.delete_skill("gone")
    if act in ("curate", "undo"):
        two_alike(world)
    if act == "undo":
        world.operator.curate_skills(ops.CurateRequest(apply=True))
    if act == "look":
        put_by_hand(world, "kept", EDITED)
        put_by_hand(world, "foreign")


def settled(world: World) -> dict[str, str]:
    """What files and rows say when the next process has looked at them."""
    library = library_on(world)
    library.refresh()
    assert files(world) == rows(world)
    assert not library.refresh().has_changed
    assert library.look() == ()
    return rows(world)


def _rewrite(world: World, number: int) -> None:
    _move(world, "kept", SkillMove.REWRITE, description=f"Said anew: {number}.")


def _delete_and_restore(world: World, number: int) -> None:
    move = SkillMove.RESTORE if number % 2 else SkillMove.DELETE
    _move(world, "kept", move)


def _put_there(world: World, number: int) -> None:
    if number:
        world.operator.delete_skill("new")
    put_by_hand(world, "new")


CHANGES: dict[str, Callable[[World, int], object]] = {
    "rewritten": _rewrite,
    "deleted or restored": _delete_and_restore,
    "edited": lambda world, number: put_by_hand(world, "kept", skill_text("kept", f"By hand: {number}.")),
    "put there": _put_there,
    "lost": lambda world, _number: skill_file(world, "kept").unlink(),
    "unlisted": lambda world, _number: (world.root / "skills" / ".written.json").unlink(missing_ok=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whichever_step_of_the_disk_is_the_last_the_next_look_mends_it(
    sqlite_world: World, change: str
) -> None:
    world = sqlite_world
    kept = saved(world, "kept")
    for at in range(200):
        CHANGES[change](world, at)
        by_hand = files(world) if change in ("edited", "put there") else {}
        try:
            library_on(world, disk=DyingDisk(at)).refresh()
        except Crash:
            assert by_hand.items() <= settled(world).items()
            continue
        break
    # The last of them came to the end, and some did not.
    assert 3 < at < 199
    assert by_hand.items() <= settled(world).items()
    with world.parts.store.snapshot() as snapshot:
        assert snapshot.skills.get(kept.skill_id).origin is (
            SkillOrigin.WRITTEN if change == "edited" else SkillOrigin.LEARNED
        )


def _move(world: World, name: str, move: SkillMove, description: str | None = None) -> None:
    """Change a row and not its file."""
    with world.parts.store.transaction() as tx:
        skill = tx.skills.find(name) or get_deleted_skill(tx, name)
        moved = skill.apply_move(move, at=world.clock.now(), actor="elsewhere")
        said = replace(skill.document, description=description or skill.document.description)
        tx.skills.update(replace(moved, document=said), expected_revision=skill.revision)


@pytest.mark.parametrize("act", ACTS)
def test_a_death_of_the_process_at_any_point_of_the_store_leaves_all_or_nothing(
    sqlite_world: World, act: str
) -> None:
    world = sqlite_world
    prepared(world, act)
    for burns_at in range(40):
        fuse = Fuse(burns_at)
        try:
            ACTS[act](operator_on(world, store=DyingStore(world.parts.store, fuse)))
        except Died:
            before = rows(world)
            settled(world)
            if act != "look":
                assert rows(world) == before
            if "behind a commit" in fuse.passed:
                break
            continue
        break
    settled(world)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["new_file", "write", "rename", "make_folder", "sync"])
@pytest.mark.sampled(every=3)
def test_a_disk_that_fails_keeps_no_skill_from_being_saved(
    sqlite_world: World, call: str, number: int
) -> None:
    world = sqlite_world
    suggested(world, "offered")

    def refuse(step: str, name: str) -> None:
        if step == call:
            raise OSError(number, os.strerror(number), name)

    operator = operator_on(world, disk=WatchedDisk(refuse))
    skill = operator.save_skill(ops.SaveSkill(suggestion="offered"))

    assert rows(world) == {"offered": rows(world)["offered"]}
    assert operator.get_skill("offered").skill_id == skill.skill_id
    told = operator.status().sections["skills"]
    assert isinstance(told, dict)
    assert isinstance(told["files"], dict)
    assert told["files"]["problem_count"] != 0
    findings = [each for each in operator.doctor(repair=True).findings if each.check == "skills"]
    assert {each.outcome for each in findings} == {"problem"}
    assert settled(world) == rows(world)


def test_one_failing_step_anywhere_in_a_refresh_is_told_and_mended(sqlite_world: World) -> None:
    world = sqlite_world
    put_by_hand(world, "foreign")
    disk = WatchedDisk()
    library_on(world, disk=disk).refresh()
    for at in range(len(disk.steps)):
        put_by_hand(world, f"another-{at}")
        report = library_on(world, disk=FailingDisk(at, errno.EIO)).refresh()
        assert report.problems or report.has_changed
    assert len(settled(world)) == len(disk.steps) + 1


def test_a_link_in_place_of_the_root_is_refused_and_stops_nothing(sqlite_world: World) -> None:
    world = sqlite_world
    elsewhere = world.root.parent / "elsewhere"
    elsewhere.mkdir()
    (world.root / "skills").symlink_to(elsewhere)

    skill = saved(world, "release")
    world.restart()

    assert world.operator.get_skill("release").skill_id == skill.skill_id
    assert list(elsewhere.iterdir()) == []
    (problem,) = world.parts.library.refresh().problems
    assert "link" in problem.told


def test_a_link_in_place_of_a_skill_is_refused_and_its_target_left(sqlite_world: World) -> None:
    world = sqlite_world
    secret = world.root.parent / "secret"
    secret.mkdir()
    (secret / "SKILL.md").write_text(skill_text("linked"))
    saved(world, "fine")
    (world.root / "skills" / "linked").symlink_to(secret)

    report = world.parts.library.refresh()

    assert [problem.name for problem in report.problems] == ["linked"]
    assert list(rows(world)) == ["fine"]
    assert (secret / "SKILL.md").read_text() == skill_text("linked")


def test_a_refresh_that_has_no_time_left_goes_on_the_next_time(sqlite_world: World) -> None:
    world = sqlite_world
    for number in range(3):
        put_by_hand(world, f"skill-{number}")

    report = world.parts.library.refresh(within_s=0)

    assert (report.is_whole, report.taken_in) == (False, ())
    assert len(settled(world)) == 3


@pytest.mark.req("LRN-12")
def test_what_is_forgotten_leaves_no_file_behind(world: World) -> None:
    run = told("Deploy it", *SLIPPED)
    world.operator.import_runs(ops.RunsToImport(source="here", runs=(run,)))
    world.operator.suggest(ops.SuggestRequest())
    for stored in world.operator.list_suggestions(ops.SuggestionsRequest()).items:
        world.operator.save_skill(ops.SaveSkill(suggestion=stored.suggestion.name))
    assert files(world) == rows(world) != {}
    (session,) = world.operator.list_sessions(ops.PageRequest()).items

    world.operator.forget(ops.Decision(record_id=RecordId(session.session_id)))

    assert files(world) == rows(world) == {}


def test_a_forgetting_that_has_to_leave_a_file_says_so(sqlite_world: World) -> None:
    world = sqlite_world
    skill = saved(world, "release")
    library = library_on(world, disk=WatchedDisk(_refuses_removal))
    before = library.stamp()
    with world.parts.store.transaction() as tx:
        tx.skills.delete([skill.skill_id])

    with pytest.raises(Unavailable) as problem:
        library.forget(since=before)

    assert problem.value.code == "skill.file-left"
    # Who forgets something else is not told of it again.
    library.forget(since=library.stamp())
    assert settled(world) == {}


def _refuses_removal(call: str, name: str) -> None:
    if call in ("rename", "remove_file") and name.startswith(".SKILL.md"):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)


@pytest.mark.req("SEC-3")
@pytest.mark.parametrize("is_known", [False, True])
def test_a_file_with_a_secret_is_left_alone_and_told(sqlite_world: World, is_known: bool) -> None:
    world, secret = sqlite_world, "ghp_" + "a1B2c3D4e5F6" * 3
    if is_known:
        put_by_hand(world, "kept", EDITED)
        world.parts.library.refresh()
    put_by_hand(world, "kept", EDITED + f"\nThe token is {secret}.\n")

    world.parts.library.refresh()

    assert secret not in str(world.tables())
    assert rows(world) == ({"kept": EDITED} if is_known else {})
    (differing,) = world.parts.library.look()
    assert "looks like it holds a secret" in differing.message
    assert secret not in differing.message
