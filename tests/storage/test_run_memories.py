"""One contract for run memories, as files or in a table: whole or not at all, and never another run's."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName, PolicyRevision
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.run import MemoryState, RunId, RunStatus
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.ports.run_memories import MemoryTerms, RunMemories, Unreadable
from runlore.ports.store import Store
from runlore.storage.open import open_run_memories
from runlore.storage.run_memories import FileRunMemories
from tests.examples import scaled
from tests.storage.places import Place, PostgresPlace, SqlitePlace
from tests.storage.run_memory_values import memories, memory
from tests.storage.run_values import keep, run, session
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("RUN-4", "RUN-6")
HOSTILE = (
    *("../../../x", "a/b", "/etc/passwd", "..", ".", "%", "~", "a%2fb", "A", "a", "ﬁ", "fi", "İ", "i̇"),
    *("CON", "nul.txt", "aux ", "LPT1:", " lead", "a\nb", "a\\b", "*?", "-rf", "é" * 200, "x" * 200),
)
_numbers = count()
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Kept:
    """A place for run memories beside a store that owes them."""

    def __init__(self, place: Place, root: Path) -> None:
        self._place = place
        self.store: Store = place.open()
        self.memories: RunMemories = open_run_memories(store=self.store, state_root=str(root))
        self._session = session("ses_1")
        keep(self.store, self._session)

    def owe(self, *run_ids: str, state: MemoryState = MemoryState.PENDING) -> None:
        """Write runs that have ended, with their memory in this state."""
        for name in run_ids:
            keep(self.store, run(self._session, name, status=RunStatus.COMPLETED, memory=state))

    def put(self, *kept: RunMemory) -> None:
        """Owe memories, and keep them."""
        for one in kept:
            self.owe(one.run_id)
            self.memories.put(one)

    def set_memory(self, run_id: str, state: MemoryState) -> None:
        """Say what has become of a run's memory."""
        with self.store.transaction() as tx:
            assert tx.runs.set_memory(RunId(run_id), state, expected=frozenset({MemoryState.PENDING}))

    def lease(self, run_id: str) -> Job:
        """The job of writing a run's memory, ours."""
        job = Job(
            job_id=JobId(f"job of {run_id}"),
            kind=JobKind.REMEMBER,
            subject=run_id,
            state=JobState.LEASED,
            attempts=1,
            due_at=NOW,
            lease_until=NOW,
            holder="us",
            fence=1,
            created_at=NOW,
        )
        with self.store.transaction() as tx:
            assert tx.jobs.put(job)
        return job

    def damage(self, run_id: str, old: str, new: str) -> None:
        """Change a stored memory behind its keeper's back."""
        if isinstance(self._place, PostgresPlace):
            self._place.sql(
                f"UPDATE run_memories SET body = replace(body, '{old}', '{new}') WHERE run_id = '{run_id}'"
            )
            return
        file = next(Path(self._folder()).glob(f"{run_id}.json"))
        file.write_text(file.read_text().replace(old, new))

    def exchange(self, one: str, other: str) -> None:
        """Put two stored memories in each other's places."""
        if isinstance(self._place, PostgresPlace):
            for here, there in ((one, "-"), (other, one), ("-", other)):
                self._place.sql(f"UPDATE run_memories SET run_id = '{there}' WHERE run_id = '{here}'")
            return
        first, second = (Path(self._folder()) / f"{name}.json" for name in (one, other))
        aside = first.with_name("aside")
        first.rename(aside)
        second.rename(first)
        aside.rename(second)

    def _folder(self) -> str:
        assert isinstance(self.memories, FileRunMemories)
        return self.memories._folder


@pytest.fixture
def kept(place: Place, tmp_path: Path) -> Kept:
    """Either kind of place, with nothing in it."""
    return Kept(place, tmp_path / "home")


def test_what_is_put_is_got_and_what_is_not_there_is_none(kept: Kept) -> None:
    kept.put(memory("run_1"), memory("run_2", summary="雨 🌧"))

    assert kept.memories.get(RunId("run_2")) == memory("run_2", summary="雨 🌧")
    assert kept.memories.get(RunId("run_3")) is None
    assert kept.memories.get_many((RunId("run_3"), RunId("run_1"))) == {RunId("run_1"): memory("run_1")}
    assert kept.memories.get_many(()) == {}


@pytest.mark.parametrize("run_id", ["", "\0", "a\0b", "\ud800", "x" * 10_000])
def test_an_id_that_no_run_can_have_names_nothing(kept: Kept, run_id: str) -> None:
    assert kept.memories.get(RunId(run_id)) is None
    assert kept.memories.get_many((RunId(run_id), RunId(run_id))) == {}
    kept.memories.delete(RunId(run_id))
    assert list(kept.memories.everything()) == []


@given(memories=st.lists(memories, max_size=4, unique_by=lambda one: one.run_id))
@settings(max_examples=scaled(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_memory_comes_back_as_it_was(kept: Kept, memories: list[RunMemory]) -> None:
    named = [replace(one, run_id=RunId(f"{next(_numbers)}{one.run_id}"[:200])) for one in memories]
    kept.put(*named)
    ids = tuple(one.run_id for one in named)

    assert list(kept.memories.get_many(ids).values()) == named
    assert [kept.memories.get(run_id) for run_id in ids] == named


def test_ids_that_look_alike_or_lead_elsewhere_are_kept_apart(kept: Kept, tmp_path: Path) -> None:
    outside = sorted(tmp_path.iterdir())
    named = [memory(name, summary=f"the memory of {number}") for number, name in enumerate(HOSTILE)]
    kept.put(*named)

    assert [kept.memories.get(RunId(name)) for name in HOSTILE] == named
    assert sorted(
        (one for one in kept.memories.everything() if isinstance(one, RunMemory)), key=str
    ) == sorted(named, key=str)
    assert {path.name for path in tmp_path.iterdir()} - {path.name for path in outside} <= {"home"}


def test_a_second_memory_of_a_run_takes_the_place_of_the_first(kept: Kept) -> None:
    kept.put(memory())
    kept.memories.put(memory().with_capture(CaptureState.COMPLETED))

    assert kept.memories.get(RunId("run_1")) == memory(capture=CaptureState.COMPLETED)
    assert len(list(kept.memories.everything())) == 1


def test_a_deleted_memory_is_gone_and_deleting_it_again_does_nothing(kept: Kept) -> None:
    kept.put(memory("run_1"), memory("run_2"))
    kept.memories.delete(RunId("run_1"))
    kept.memories.delete(RunId("run_1"))

    assert kept.memories.get(RunId("run_1")) is None
    assert list(kept.memories.everything()) == [memory("run_2")]


@pytest.mark.req("RUN-9")
def test_everything_is_told_by_id_also_while_the_caller_changes_it(kept: Kept) -> None:
    named = [memory(f"run_{number:04}") for number in range(30)]
    kept.put(*named)

    told = []
    for one in kept.memories.everything():
        told.append(one)
        assert isinstance(one, RunMemory)
        kept.memories.delete(one.run_id)
        with kept.store.snapshot() as snapshot:
            assert snapshot.runs.find(one.run_id) is not None

    assert told == named
    assert list(kept.memories.everything()) == []


def test_a_memory_that_could_not_be_read_again_is_refused(kept: Kept) -> None:
    kept.owe("run_1")
    for unfit in (
        memory(summary=""),
        memory(summary="x" * 481),
        memory(status=RunStatus.RUNNING),
        memory(summary="\0"),
    ):
        with pytest.raises(Invalid) as refused:
            kept.memories.put(unfit)
        assert refused.value.code == "run-memory.unstorable"

    assert list(kept.memories.everything()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("completed", "failed"),
        ("ses_1", "ses_2"),
        ('"run_1"', '"run_2"'),
        ("{", "["),
        ("cache", "c"),
        ('"format"', '"f"'),
    ],
)
def test_a_changed_memory_is_unreadable_and_can_be_discarded(kept: Kept, old: str, new: str) -> None:
    kept.put(memory("run_0"), memory("run_1"))
    kept.damage("run_1", old, new)

    found = kept.memories.get(RunId("run_1"))
    assert isinstance(found, Unreadable)
    assert found.run_id == "run_1"
    assert "run_1" in found.where
    assert found.problem
    assert list(kept.memories.everything()) == [memory("run_0"), found]
    assert kept.memories.get_many((RunId("run_1"), RunId("run_0"))) == {
        "run_1": found,
        "run_0": memory("run_0"),
    }

    assert kept.memories.discard(found)
    assert list(kept.memories.everything()) == [memory("run_0")]
    assert not kept.memories.discard(found)


def test_exchanged_memories_are_both_unreadable(kept: Kept) -> None:
    kept.put(memory("run_1"), memory("run_2"), memory("run_3"))
    kept.exchange("run_1", "run_2")

    found = list(kept.memories.everything())
    assert [type(one) for one in found] == [Unreadable, Unreadable, RunMemory]
    assert {one.run_id for one in found} == {"run_1", "run_2", "run_3"}


def test_a_good_memory_that_took_the_place_of_a_damaged_one_is_not_discarded(kept: Kept) -> None:
    kept.put(memory())
    kept.damage("run_1", "completed", "failed")
    found = kept.memories.get(RunId("run_1"))
    assert isinstance(found, Unreadable)
    kept.memories.put(memory())

    assert not kept.memories.discard(found)

    assert kept.memories.get(RunId("run_1")) == memory()


def test_readers_see_one_whole_memory_or_another_while_it_is_rewritten(kept: Kept) -> None:
    versions = [memory(summary=str(number) * 480) for number in range(8)]
    kept.put(versions[0])

    def read() -> set[str]:
        seen = set()
        for _ in range(60):
            found = kept.memories.get(RunId("run_1"))
            assert isinstance(found, RunMemory)
            seen.add(found.summary)
        return seen

    def write() -> None:
        for one in versions * 3:
            kept.memories.put(one)

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        writers = [pool.submit(write) for _ in range(2)]
        seen = set.union(*(reader.result() for reader in readers))
        for writer in writers:
            writer.result()

    assert seen <= {one.summary for one in versions}
    assert kept.memories.get(RunId("run_1")) == versions[-1]
    assert len(list(kept.memories.everything())) == 1


@pytest.mark.parametrize("owed", [None, MemoryTerms(policy_revision=0, job=None)])
@pytest.mark.parametrize("state", [state for state in MemoryState if state is not MemoryState.PENDING])
def test_a_late_writer_brings_nothing_back(kept: Kept, state: MemoryState, owed: MemoryTerms | None) -> None:
    kept.owe("run_1", state=state)
    kept.memories.put(memory("run_1"), owed)

    assert list(kept.memories.everything()) == []


@pytest.mark.parametrize("owed", [None, MemoryTerms(policy_revision=0, job=None)])
def test_a_late_writer_does_not_replace_what_is_stored(kept: Kept, owed: MemoryTerms | None) -> None:
    kept.put(memory("run_1", summary="of the first"))
    kept.set_memory("run_1", MemoryState.STORED)
    kept.memories.put(memory("run_1", summary="of the late one"), owed)

    assert kept.memories.get(RunId("run_1")) == memory("run_1", summary="of the first")


def test_a_memory_that_is_owed_is_kept_under_its_policy_alone(kept: Kept) -> None:
    kept.owe("run_1", "run_2")
    kept.memories.put(memory("run_1"), MemoryTerms(policy_revision=0, job=None))
    with kept.store.transaction() as tx:
        tx.policies.put(
            PolicyRevision(
                name=PolicyName.RUN_MEMORY,
                revision=1,
                policy={"redact_pii": True},
                updated_at=NOW,
                actor="operator",
            )
        )
    kept.memories.put(memory("run_1", summary="of the old policy"), MemoryTerms(policy_revision=0, job=None))
    kept.memories.put(memory("run_2"), MemoryTerms(policy_revision=1, job=None))

    assert list(kept.memories.everything()) == [memory("run_1"), memory("run_2")]


def test_a_memory_is_kept_only_while_its_job_is_still_ours(kept: Kept) -> None:
    kept.owe("run_1", "run_2")
    ours, lost = kept.lease("run_1"), kept.lease("run_2")
    with kept.store.transaction() as tx:
        taken = tx.jobs.claim(
            frozenset({JobKind.REMEMBER}), holder="another", now=NOW, lease_until=NOW + timedelta(days=1)
        )
    assert taken is not None
    ours, lost = (lost, ours) if taken.subject == ours.subject else (ours, lost)
    for job in (ours, lost):
        kept.memories.put(memory(job.subject), MemoryTerms(policy_revision=0, job=job))

    assert [found.run_id for found in kept.memories.everything()] == [ours.subject]


@pytest.mark.req("RUN-10")
def test_a_receipt_is_noted_in_a_stored_memory_and_all_else_stays(kept: Kept) -> None:
    kept.put(memory("run_1", capture=CaptureState.PENDING), memory("run_2"))
    kept.set_memory("run_1", MemoryState.STORED)

    for state in (*CaptureState, CaptureState.COMPLETED, CaptureState.COMPLETED):
        kept.memories.note_captures({RunId("run_1"): state})
        assert kept.memories.get(RunId("run_1")) == memory("run_1", capture=state)

    assert kept.memories.get(RunId("run_2")) == memory("run_2")
    assert len(list(kept.memories.everything())) == 2


@pytest.mark.req("RUN-10")
@pytest.mark.parametrize("state", [state for state in MemoryState if state is not MemoryState.STORED])
def test_no_receipt_is_noted_where_the_memory_does_not_count_as_stored(
    kept: Kept, state: MemoryState
) -> None:
    kept.put(memory("run_1"))
    if state is not MemoryState.PENDING:
        kept.set_memory("run_1", state)

    kept.memories.note_captures({RunId("run_1"): CaptureState.COMPLETED})

    assert kept.memories.get(RunId("run_1")) == memory("run_1")


@pytest.mark.req("RUN-10")
def test_noting_a_receipt_brings_no_memory_back_and_mends_none(kept: Kept) -> None:
    kept.put(memory("run_1", summary="first"), memory("run_2"))
    for name in ("run_1", "run_2"):
        kept.set_memory(name, MemoryState.STORED)
    kept.damage("run_1", "first", "second")
    kept.memories.delete(RunId("run_2"))
    kept.owe("run_3", state=MemoryState.STORED)

    for name in ("run_1", "run_2", "run_3", "of no run", "\0", "../up"):
        kept.memories.note_captures({RunId(name): CaptureState.COMPLETED})

    [found] = kept.memories.everything()
    assert isinstance(found, Unreadable)


@pytest.mark.req("RUN-10", "LRN-12")
def test_a_receipt_that_comes_while_the_run_is_forgotten_brings_nothing_back(kept: Kept) -> None:
    names = [RunId(f"run_{number}") for number in range(30)]
    kept.put(*(memory(name) for name in names))
    for name in names:
        kept.set_memory(name, MemoryState.STORED)

    def forget() -> None:
        for name in names:
            with kept.store.transaction() as tx:
                tx.runs.set_memory(name, MemoryState.FORGOTTEN, expected=frozenset({MemoryState.STORED}))
            kept.memories.delete(name)

    def note() -> None:
        for name in names:
            kept.memories.note_captures({name: CaptureState.COMPLETED})

    with ThreadPoolExecutor(3) as pool:
        for work in [pool.submit(each) for each in (forget, note, note)]:
            work.result()

    assert list(kept.memories.everything()) == []


def test_where_daemons_share_a_server_a_memory_of_no_run_is_not_kept(
    postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    kept = Kept(postgres_place, tmp_path)
    kept.memories.put(memory("of no run"))

    assert list(kept.memories.everything()) == []


def test_files_take_what_a_restore_brings_before_its_runs_and_nothing_else(
    sqlite_place: SqlitePlace, tmp_path: Path
) -> None:
    kept = Kept(sqlite_place, tmp_path)
    kept.memories.put(memory("run_1"))
    kept.memories.put(memory("run_2"), MemoryTerms(policy_revision=0, job=None))

    assert list(kept.memories.everything()) == [memory("run_1")]


def test_a_late_writer_waits_for_whoever_is_pruning(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    kept = Kept(postgres_place, tmp_path)
    kept.owe("run_1")
    with ThreadPoolExecutor(1) as pool:
        with kept.store.transaction() as tx:
            tx.runs.set_memory(
                RunId("run_1"), MemoryState.FORGOTTEN, expected=frozenset({MemoryState.PENDING})
            )
            late = pool.submit(kept.memories.put, memory("run_1"))
            with pytest.raises(TimeoutError):
                late.result(timeout=0.2)
        late.result(timeout=PATIENCE_S)

    assert list(kept.memories.everything()) == []
