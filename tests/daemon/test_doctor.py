"""The doctor names what is wrong, puts right what is derived, and leaves alone what is not."""

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from runlore.config.providers import EmbeddingSettings
from runlore.config.settings import Settings
from runlore.daemon.process.daemon_lock import damage_found
from runlore.daemon.process.server import Health
from runlore.domain.record import State
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.storage.sqlite.files import DAMAGED_FOLDER
from tests.daemon.dead_letters import dead_job
from tests.flow.meanings import backend_of
from tests.flow.skill_shelf import put_by_hand, skill_text
from tests.model_server import fails, model_server
from tests.waiting import until
from tests.world import World, outcome

SESSION = SessionId("s1")


def _outcomes(world: World, *, repair: bool = False) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for finding in world.operator.doctor(repair=repair).findings:
        found.setdefault(finding.check, set()).add(finding.outcome)
    return found


def _run(world: World, run_id: str) -> None:
    world.operator.create_session(ops.NewSession(session_id=SESSION))
    world.operator.open_run(ops.NewRun(session_id=SESSION, request="Look around", run_id=RunId(run_id)))
    world.operator.finish_run(ops.RunEnd(run_id=RunId(run_id), status=RunStatus.COMPLETED))


@pytest.mark.req("OPS-2")
def test_a_healthy_runlore_has_every_check_fine(world: World) -> None:
    world.profile()
    _run(world, "r1")

    diagnosis = world.operator.doctor()

    assert diagnosis.healthy, diagnosis
    assert "file" not in diagnosis.findings[0].detail, "a server has no file to speak of"
    checks = [finding.check for finding in diagnosis.findings]
    assert checks == [
        "database",
        "clock",
        "permissions",
        "run memories",
        "index",
        "embedding",
        "promoted skills",
        "skills",
        "still true",
        "mounts",
        "jobs",
        "models",
        "confinement",
        "agents",
    ]


class _FullLog(apsw.VFS):
    """A disk on which the write-ahead log may not grow any more, though there seems to be room."""

    log_bytes_max = 2**40

    def __init__(self) -> None:
        super().__init__("full-log", "", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _FullLogFile(self, name, flags)


class _FullLogFile(apsw.VFSFile):
    def __init__(self, disk: _FullLog, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._is_log and offset + len(data) > self._disk.log_bytes_max:
            raise apsw.FullError
        super().xWrite(data, offset)


@pytest.mark.req("OPS-2", "PRF-2")
def test_a_full_disk_is_told_until_a_write_of_some_size_went_through(sqlite_world: World) -> None:
    world = sqlite_world
    world.close()
    disk = _FullLog()
    world.restart()
    kept = world.profile()
    # A page or two still go in, which is no room for anything that somebody wants to keep.
    disk.log_bytes_max = (world.root / "runlore.db-wal").stat().st_size + 10_000
    health = Health(world.parts)
    assert outcome(lambda: world.propose("theme", "dark")) == "store.disk-full"

    failures = [health.failure() for _ in range(3)]
    found = world.operator.doctor()
    disk.log_bytes_max = 2**40
    until(lambda: health.failure() is None)

    assert [getattr(failure, "code", "ready") for failure in failures] == ["store.disk-full"] * 3
    (told,) = (finding for finding in found.findings if finding.outcome == "problem")
    assert told.detail.startswith("nothing can be written: the disk that holds")
    assert "free some space" in told.hint
    assert world.operator.doctor().healthy
    assert (world.propose("theme", "dark").state, world.record(kept)) == (State.CONSTRAINED, kept)
    world.close()
    disk.unregister()
    world.restart()


@pytest.mark.req("OPS-2")
def test_looking_changes_nothing(world: World) -> None:
    world.profile()
    _run(world, "r1")
    world.parts.run_memories.delete(RunId("r1"))
    before = world.tables()

    assert not world.operator.doctor().healthy

    assert world.tables() == before


@pytest.mark.req("OPS-2", "RUN-9")
def test_a_pointer_without_a_memory_is_told_and_taken_away(world: World) -> None:
    _run(world, "r1")
    world.parts.run_memories.delete(RunId("r1"))

    assert _outcomes(world)["run memories"] == {"problem"}
    assert _outcomes(world, repair=True)["run memories"] == {"repaired"}
    assert world.operator.doctor().healthy


@pytest.mark.req("OPS-2", "SUR-6")
def test_what_others_can_read_is_told_and_made_private(sqlite_world: World) -> None:
    world = sqlite_world
    os.chmod(world.root / "runlore.db", 0o644)
    os.chmod(world.root, 0o755)
    tls = world.root / "tls"
    tls.mkdir(mode=0o700)
    files = {"cert.pem": "CERTIFICATE", "key.pem": "PRIVATE KEY", "notes.crt": "SOMETHING"}
    for name, what in files.items():
        (tls / name).write_text(f"-----BEGIN {what}-----\nAA==\n-----END {what}-----\n")
        os.chmod(tls / name, 0o644)
    os.chmod(world.root, 0o700)
    told = " ".join(each.detail for each in world.operator.doctor().findings if each.check == "permissions")
    assert [name in told for name in files] == [False, True, True], "a certificate is public"
    os.chmod(world.root, 0o755)

    assert _outcomes(world)["permissions"] == {"problem"}
    assert _outcomes(world, repair=True)["permissions"] == {"repaired"}
    assert oct((world.root / "runlore.db").stat().st_mode & 0o777) == "0o600"
    assert oct(world.root.stat().st_mode & 0o777) == "0o700"


@pytest.mark.req("OPS-2")
def test_a_folder_that_others_can_read_is_told_once_with_how_much_is_in_it(sqlite_world: World) -> None:
    folder = sqlite_world.root / "skills" / "tidy-up"
    (folder / "scripts").mkdir(parents=True)
    files = [folder / "SKILL.md", *(folder / "scripts" / f"{number}.py" for number in range(30))]
    for file in files:
        file.write_text("x")
        os.chmod(file, 0o644)
    for each in (folder / "scripts", folder):
        os.chmod(each, 0o755)
    os.chmod(folder.parent, 0o700)

    [told] = [each for each in sqlite_world.operator.doctor().findings if each.check == "permissions"]

    assert (told.detail, told.hint) == (
        f"others can reach {folder} and 32 more in it",
        f"`runlore doctor --repair` closes it, and so does: chmod -R go= {folder}",
    )
    assert _outcomes(sqlite_world, repair=True)["permissions"] == {"repaired"}
    assert _outcomes(sqlite_world)["permissions"] == {"ok"}


@pytest.mark.req("OPS-2")
def test_the_doctor_knows_both_backends_and_does_not_vouch_for_what_was_not_asked(
    tmp_path: Path,
) -> None:
    def embedding(world: World) -> list[tuple[str, str]]:
        found = world.operator.doctor().findings
        return [(each.outcome, each.detail) for each in found if each.check == "embedding"]

    with model_server(fails(500)) as server:
        backend = backend_of(server.base_url())
        both = EmbeddingSettings(shared=backend, skills=backend)
        with closing(World(Settings(state_root=str(tmp_path / "home"), embedding=both))) as world:
            [(outcome, told)] = embedding(world)
            assert (outcome, "was not asked" in told) == ("ok", True)
            put_by_hand(world, "tidy-up", skill_text("tidy-up", "Tidies."))
            world.parts.library.refresh()
            world.parts.library.embed_some()
            [(outcome, told)] = embedding(world)
            assert (outcome, "500" in told) == ("problem", True)
            assert not world.operator.doctor().healthy


@pytest.mark.req("OPS-2")
def test_a_link_in_the_state_root_is_not_followed(sqlite_world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    os.chmod(outside, 0o644)
    (sqlite_world.root / "link").symlink_to(outside)

    _outcomes(sqlite_world, repair=True)

    assert oct(outside.stat().st_mode & 0o777) == "0o644"


@pytest.mark.req("OPS-2", "POL-10")
def test_a_dead_job_is_a_problem_until_it_is_tried_again(world: World) -> None:
    job_id = dead_job(world)

    diagnosis = world.operator.doctor(repair=True)

    told = [finding for finding in diagnosis.findings if finding.check == "jobs"]
    assert [finding.outcome for finding in told] == ["problem"]
    assert "it broke" in told[0].detail
    assert job_id in told[0].hint
    world.operator.retry_job(job_id)
    assert _outcomes(world)["jobs"] == {"ok"}


@pytest.mark.req("OPS-2")
def test_damage_is_told_and_never_repaired_by_guessing(sqlite_world: World) -> None:
    world = sqlite_world
    record = world.profile()
    world.damage(f"UPDATE record_events SET reason = 'other' WHERE record_id = '{record.record_id}'")
    before = world.tables()

    for repair in (False, True):
        diagnosis = world.operator.doctor(repair=repair)
        told = [finding for finding in diagnosis.findings if finding.check == "database"]
        assert {finding.outcome for finding in told} == {"problem"}
        assert any(record.record_id in finding.detail for finding in told)
    assert world.tables()["record_events"] == before["record_events"]


@pytest.mark.req("OPS-2")
def test_a_check_that_fails_itself_is_a_problem_and_the_others_go_on(sqlite_world: World) -> None:
    world = sqlite_world
    _run(world, "r1")
    folder = world.root / "run-memories"
    folder.rename(world.root / "elsewhere")
    folder.write_text("not a folder")

    outcomes = _outcomes(world)

    assert outcomes["run memories"] == {"problem"}
    assert outcomes["jobs"] == {"ok"}


@pytest.mark.req("OPS-2")
def test_a_log_that_was_found_damaged_is_told_until_its_note_is_taken_away(
    sqlite_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world = sqlite_world
    (world.root / DAMAGED_FOLDER).mkdir(mode=0o700)
    note = world.root / DAMAGED_FOLDER / "1.txt"
    note.write_text("the log was damaged\n")
    note.chmod(0o600)

    world.restart()

    assert "the log was damaged [store.damaged]" in caplog.text
    assert _outcomes(world)["database"] == {"problem"}
    assert world.operator.status().store["damage"] == "the log was damaged"
    assert damage_found(str(world.root)) == ("the log was damaged",)
    note.unlink()
    assert world.operator.doctor().healthy
