"""Several daemons on one database: each suggestion is saved once, and curation leaves one result."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.parts import Parts
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.records.audit import Act
from runlore.domain.runs.job import JobKind
from runlore.domain.skill import SkillState
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.queueing import queue
from runlore.flow.reactions import forget_whole_run
from runlore.flow.skills.curating import undo
from tests.flow.procedures import listed
from tests.flow.saved_skills import PLAN, acting, kept, library, lines, offered, saved
from tests.flow.skills.test_curating import as_files, chain
from tests.flow.skills.test_detecting import worked
from tests.flow.skills.test_forgetting_skills import EVERY, deploy, ship
from tests.flow.skills.test_forgetting_suggestions import forget, told_anywhere
from tests.waiting import PATIENCE_S
from tests.world import World

pytestmark = pytest.mark.req("SKL-7", "SKL-9", "OPS-4")

DAEMONS = 3
OF_SKILLS = frozenset({JobKind.DETECT, JobKind.SAVE, JobKind.CURATE})


def at_once(*acts: Callable[[], object]) -> None:
    """Do all of them at the same time."""
    starting = threading.Barrier(len(acts))

    def one(act: Callable[[], object]) -> None:
        starting.wait(PATIENCE_S)
        act()

    with ThreadPoolExecutor(len(acts)) as pool:
        for each in [pool.submit(one, act) for act in acts]:
            each.result(PATIENCE_S)


def working(parts: Parts) -> Callable[[], object]:
    """A daemon that does all jobs of skills."""
    return lambda: do_due_jobs(parts, kinds=OF_SKILLS)


def test_each_suggestion_is_saved_once_whoever_comes_first(postgres_world: World) -> None:
    world = postgres_world
    for number, calls in enumerate((deploy("app"), ship("app"), PLAN, deploy("web"), PLAN, ship("web"))):
        world.clock.advance(seconds=60)
        worked(world, "Do it", *calls, session_id=f"talk-{number}")
    daemons = [world.parts, *(world.another().parts for _ in range(DAEMONS - 1))]
    at_once(*map(working, daemons))
    do_due_jobs(world.parts, kinds=OF_SKILLS)
    assert [job.kind for job in world.operator.list_jobs() if job.kind in OF_SKILLS] == []
    every = library(world, *EVERY)
    assert len(every) == len(listed(world)) == 3
    assert Counter(line.kind.value for line in lines(world))["saved"] == 3
    # The two that are about the same are one, whichever was there first.
    assert len(library(world)) == 2
    (merged,) = library(world, SkillState.MERGED).values()
    assert merged.merged_into in {skill.skill_id for skill in library(world).values()}


def test_curating_undoing_saving_and_forgetting_at_once_leave_something_whole(postgres_world: World) -> None:
    world = postgres_world
    world.clock.advance(seconds=60)
    run = worked(world, "Deploy quokka", *deploy("quokka"), session_id="talk-q")
    do_due_jobs(world.parts, kinds=frozenset({JobKind.DETECT}))
    chain(world)
    waits = [offered(world, f"more-{number}", pattern=f"more {number}") for number in range(3)]
    with world.parts.store.transaction() as tx:
        queue(tx, world.ids, JobKind.CURATE, ["one", "two"], at=world.clock.now())

    def undoing() -> None:
        for _ in range(3):
            try:
                with acting(world) as (tx, saving):
                    undo(tx, None, saving.act)
            except (Conflict, NotFound):
                continue

    def saving_all() -> None:
        for stored in waits:
            kept(world, stored)

    def forgetting() -> None:
        with world.parts.store.transaction() as tx:
            going, _ = run_turn(tx, run.run_id)
            forget_whole_run(tx, going, Act(actor="operator", at=world.clock.now()))

    another = world.another().parts
    at_once(
        working(world.parts),
        working(another),
        undoing,
        saving_all,
        forgetting,
    )
    do_due_jobs(world.parts, kinds=OF_SKILLS)
    # What stands in files goes now.
    forget(world, run.run_id)
    assert told_anywhere(world, "quokka") == []
    every = library(world, *EVERY)
    assert {"more-0", "more-1", "more-2", "ship-0", "ship-1", "ship-2", "plan-it"} == set(every)
    by_id = {skill.skill_id: skill for skill in every.values()}
    text = "\n".join(as_files(world).values())
    for skill in every.values():
        assert skill.merged_into is None or skill.merged_into in by_id
        for line in skill.document.body.splitlines():
            assert line.lstrip("#").strip() in text
    assert saved(world, "after", PLAN, pattern="after").is_draft
