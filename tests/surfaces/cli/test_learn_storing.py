"""What a storing run sends: bounded batches in order, each with its position, all of it after any crash."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.daemon.mining import source_reader, store_runs
from runlore.daemon.mining.dry_run import look_through
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.errors import Unavailable
from runlore.domain.project import project_id
from runlore.domain.run import RunId
from runlore.domain.runs.transcript import Position, TranscriptSource
from runlore.ports.operations.skills import ImportedRuns, RunsToImport, SkillOperations
from tests.examples import scaled
from tests.surfaces.command_line import Runlore
from tests.surfaces.transcripts import Turn, add_turns, releases, session_lines, settle, write_session

pytestmark = pytest.mark.req("INT-1")


@dataclass
class Importer:
    """As much of a store as importing needs: runs by id, positions by source, and a call that fails."""

    fails_at: int | None = None
    runs: dict[RunId, int] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)
    batches: list[RunsToImport] = field(default_factory=list)

    def import_runs(self, request: RunsToImport) -> ImportedRuns:
        """All of a batch, or nothing of it."""
        if len(self.batches) == self.fails_at:
            raise Unavailable("the disk is full", code="store.full", hint="make room")
        self.batches.append(request)
        new = [run for run in request.runs if run.run_id not in self.runs]
        self.runs |= {run.run_id: len(run.events) for run in new}
        assert request.position is not None
        self.positions[request.source] = request.position
        events = sum(len(run.events) for run in new)
        known = len(request.runs) - len(new)
        return ImportedRuns(stored=len(new), known=known, left=0, sessions=1, events=events, reasons={})

    def transcript_positions(self, sources: Sequence[str]) -> dict[str, Position]:
        """What is known of these."""
        return {source: self.positions[source] for source in sources if source in self.positions}


def stored(importer: Importer, folder: Path) -> store_runs.Stored:
    """One storing run over a folder."""
    operations = cast("SkillOperations", importer)
    return store_runs.store(operations, local_transcripts(), found(folder))


def found(folder: Path) -> list[TranscriptSource]:
    """The sources of a folder."""
    return list(local_transcripts().find([str(folder)]))


def turns(count: int, *, calls: int = 1, chars: int = 10) -> list[Turn]:
    """Many inputs with calls that print so much."""
    return [(f"Do {n}", [(f"make part-{n}-{c}", "x" * chars, 0) for c in range(calls)]) for n in range(count)]


def test_batches_are_bounded_in_order_and_end_where_their_last_run_ends(tmp_path: Path) -> None:
    write_session(tmp_path, "many", turns(2 * source_reader.BATCH_RUNS + 1))
    write_session(tmp_path, "events", turns(12, calls=source_reader.BATCH_EVENTS // 10))
    write_session(tmp_path, "large", turns(30, calls=8, chars=30_000))
    importer = Importer()

    answer = stored(importer, tmp_path)

    assert answer.stored == len(importer.runs) == 2 * source_reader.BATCH_RUNS + 1 + 12 + 30
    assert answer.events == sum(importer.runs.values())
    assert len(importer.batches) >= 3 + 2 + 3
    for batch in importer.batches:
        events = [event for run in batch.runs for event in run.events]
        assert batch.position == batch.runs[-1].after
        assert len(batch.runs) <= source_reader.BATCH_RUNS
        assert len(batch.runs) == 1 or len(events) <= source_reader.BATCH_EVENTS
        size = sum(len(orjson.dumps(event.entry.body, default=dict)) for event in events)
        assert len(batch.runs) == 1 or size <= source_reader.BATCH_BYTES
    for source in {batch.source for batch in importer.batches}:
        ordinals = [run.ordinal for batch in importer.batches if batch.source == source for run in batch.runs]
        assert ordinals == list(range(1, len(ordinals) + 1))


def test_no_path_is_told_to_the_store(tmp_path: Path) -> None:
    releases(tmp_path)
    importer = Importer()
    stored(importer, tmp_path)

    assert len(importer.positions) == 3
    for source in importer.positions:
        assert len(source) == 64
        assert set(source) <= set("0123456789abcdef")


@settings(max_examples=scaled(12))
@given(fails_at=st.integers(0, 8), grows=st.booleans())
def test_whatever_batch_it_dies_at_the_next_run_stores_the_rest_once(
    tmp_path_factory: pytest.TempPathFactory, fails_at: int, grows: bool
) -> None:
    folder = tmp_path_factory.mktemp("sessions")
    for name in ("one", "two", "three"):
        path = write_session(folder, name, turns(2 * source_reader.BATCH_RUNS + 3))
    whole = Importer()
    stored(whole, folder)
    importer = Importer(fails_at=fails_at)

    try:
        stored(importer, folder)
        assert fails_at >= len(whole.batches)
    except Unavailable:
        assert len(importer.batches) == fails_at
    importer.fails_at = None
    before = set(importer.runs)
    if grows:
        add_turns(path, turns(2), first=90_000)
        stored(whole, folder)
    again = stored(importer, folder)

    assert importer.runs == whole.runs
    assert again.stored == len(set(whole.runs) - before)
    assert again.known == 0


def test_a_session_in_two_files_is_counted_once(tmp_path: Path) -> None:
    lines = session_lines("same", turns(6))
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
        settle(tmp_path / name)

    findings = look_through(found(tmp_path))
    answer = stored(Importer(), tmp_path)

    assert (findings.reading.sessions, findings.reading.runs, findings.reading.files) == (1, 6, 2)
    assert sum(day.commands for day in findings.days) == 6
    assert (answer.stored, answer.known, answer.reading.runs) == (6, 6, 6)


def test_copies_of_sessions_make_nothing_more_frequent(tmp_path: Path) -> None:
    releases(tmp_path / "here")
    once = look_through(found(tmp_path))
    releases(tmp_path / "there")

    twice = look_through(found(tmp_path))

    assert twice.suggestions == once.suggestions != ()
    assert (twice.days, twice.examples) == (once.days, once.examples)


def test_the_report_shows_what_waits_and_not_what_was_skipped(embedded: Runlore, clean_home: Path) -> None:
    releases(clean_home / "sessions")
    report = clean_home / "report.html"
    name = embedded.json("learn", str(clean_home / "sessions"))["suggestions"][0]["name"]

    embedded.json("learn", str(clean_home / "sessions"), "--report", str(report))
    before = report.read_text("utf-8")
    embedded.json("skill", "suggestions", "skip", name)
    after = embedded.json("learn", str(clean_home / "sessions"), "--report", str(report))

    assert f'"skill-{name}"' in before
    assert name not in {each["name"] for each in after["suggestions"]}
    assert f'"skill-{name}"' not in report.read_text("utf-8")


def test_how_far_it_is_never_goes_back_and_ends_at_the_end(tmp_path: Path) -> None:
    releases(tmp_path)
    write_session(tmp_path, "large", turns(30, calls=8, chars=30_000))
    told: dict[str, list[tuple[int, int]]] = {"dry": [], "stored": []}
    total = sum(source.bytes for source in found(tmp_path))

    look_through(found(tmp_path), progress=lambda done, of: told["dry"].append((done, of)))
    operations = cast("SkillOperations", Importer())
    store_runs.store(
        operations,
        local_transcripts(),
        found(tmp_path),
        progress=lambda done, of: told["stored"].append((done, of)),
    )

    for steps in told.values():
        assert [of for _, of in steps] == [total] * len(steps)
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert steps[-1][0] == total
        assert len(steps) > 5


def test_a_transcript_without_any_run_is_noted_and_not_read_again_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "silent.jsonl"
    path.write_text('{"role": "system", "content": "Be kind"}\n{"role": "assistant", "content": "Hello"}\n')
    settle(path)
    importer = Importer()

    first = stored(importer, tmp_path)
    assert (first.reading.lines, first.reading.runs, first.unchanged) == (2, 0, 0)
    again = stored(importer, tmp_path)
    assert (again.reading.lines, again.unchanged, len(importer.batches)) == (0, 1, 1)
    with path.open("a") as file:
        file.write('{"role": "user", "content": "Build it"}\n')
    settle(path)
    assert stored(importer, tmp_path).stored == 1


@pytest.mark.req("CAP-7")
@pytest.mark.req("SCO-5")
def test_of_a_folder_that_says_no_nothing_is_sent_to_whoever_may_not_see_the_folder(tmp_path: Path) -> None:
    quiet, loud = tmp_path / "quiet", tmp_path / "loud"
    for folder in (quiet, loud):
        folder.mkdir()
    (quiet / ".runlore.toml").write_text("capture = false\n")
    (tmp_path / "link").symlink_to(loud)
    for name, cwd in (("a", quiet), ("b", tmp_path / "link"), ("c", quiet / "deep")):
        write_session(tmp_path / "sessions", name, turns(2), cwd=str(cwd))
    mixed = [
        *session_lines("d", turns(2), cwd=str(loud)),
        *session_lines("d", turns(1), cwd=str(quiet), first=50),
    ]
    (tmp_path / "sessions" / "d.jsonl").write_text("".join(mixed))
    settle(tmp_path / "sessions" / "d.jsonl")
    importer = Importer()

    answer = stored(importer, tmp_path / "sessions")
    again = stored(importer, tmp_path / "sessions")

    sent = [run for batch in importer.batches for run in batch.runs]
    project = project_id(remote=None, repository_root=None, folder=str(loud))
    assert (answer.stored, answer.left, answer.reasons) == (4, 5, {"folder": 5})
    assert str(quiet) not in repr(importer.batches)
    assert {(run.project, run.project_folder) for run in sent} == {(project, str(loud))}
    assert (again.stored, again.known, again.reasons) == (0, 0, {"folder": 4})
    assert look_through(found(tmp_path / "sessions")).left == {"folder": 5}
