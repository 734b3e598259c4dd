"""One bad file never ends `runlore learn`: it is told, by the kind of its problem, and the others go on."""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

from runlore.daemon.mining import store_runs
from runlore.daemon.mining.findings import Unread, printable_path
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.daemon.mining.source_reader import FolderCache, isolate_errors, look_up_folder, read_source
from runlore.domain.errors import Invalid, Unavailable
from runlore.domain.runs.transcript import START, Position, ReadCounts, ToldRun, TranscriptSource
from runlore.ports.operations.skills import ImportedRuns, RunsToImport, SkillOperations
from tests.surfaces.command_line import Runlore
from tests.surfaces.transcripts import releases, settle, write_session

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]

SECRET_WORD = "Kingfisher"
FAILED = "Runlore failed here: IndexError"


class Failing:
    """Transcripts of which one makes its reader fail behind its first run."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._real = local_transcripts()

    def find(self, paths: Sequence[str], *, since: datetime | None = None) -> Iterator[TranscriptSource]:
        """As they are."""
        return self._real.find(paths, since=since)

    def read(
        self, source: TranscriptSource, counts: ReadCounts, start: Position = START
    ) -> Iterator[ToldRun]:
        """The first run of the bad one, and all of the others."""
        for run in self._real.read(source, counts, start):
            yield run
            if source.path.endswith(self._name):
                raise IndexError(SECRET_WORD)

    def is_unread(self, source: TranscriptSource, position: Position) -> bool:
        """As it is."""
        return self._real.is_unread(source, position)


class Importer:
    """As much of a store as importing needs, which refuses the runs of some folders."""

    def __init__(self, refused: Exception | None = None) -> None:
        self.runs: list[ToldRun] = []
        self._refused = refused

    def import_runs(self, request: RunsToImport) -> ImportedRuns:
        """All of a batch, or its refusal."""
        if self._refused is not None and not self.runs:
            refused, self._refused = self._refused, None
            raise refused
        self.runs += request.runs
        return ImportedRuns(stored=len(request.runs), known=0, left=0, sessions=1, events=1, reasons={})

    def transcript_positions(self, sources: Sequence[str]) -> dict[str, Position]:
        """Nothing was read before."""
        return dict.fromkeys(sources, START)


def stored(importer: Importer, transcripts: Failing, folder: Path) -> store_runs.Stored:
    sources = list(transcripts.find([str(folder)]))
    return store_runs.store(cast("SkillOperations", importer), transcripts, sources)


def test_a_reader_that_fails_costs_the_rest_of_its_source_alone(tmp_path: Path) -> None:
    turns = [("Do it", [("make one", "ok", 0)]), ("And more", [("make two", "ok", 0)])]
    path = write_session(tmp_path, "a", turns)
    [source] = local_transcripts().find([str(tmp_path)])
    read = read_source(Failing(path.name), source, FolderCache(look_up_folder), lambda _done: None)
    assert read.problems == [FAILED]
    assert [len(runs) for runs in read.sessions.values()] == [1]
    assert read.matches.keys() == read.sessions.keys()
    assert read.counts.lines


def test_a_storing_run_tells_what_failed_and_stores_the_others(tmp_path: Path) -> None:
    paths = releases(tmp_path)
    importer = Importer()
    told = stored(importer, Failing(paths[0].name), tmp_path)
    assert told.reading.unread == (Unread(path=str(paths[0]), problem=FAILED),)
    assert len({run.session_id for run in importer.runs}) == len(paths) - 1
    assert told.reading.files == len(paths)


def test_what_a_store_does_not_take_of_one_source_does_not_keep_the_others_out(tmp_path: Path) -> None:
    paths = releases(tmp_path)
    importer = Importer(Invalid(SECRET_WORD, code="text.characters", hint="none"))
    told = stored(importer, Failing("none of them"), tmp_path)
    [unread] = told.reading.unread
    assert "text.characters" in unread.problem
    assert SECRET_WORD not in unread.problem
    assert len({run.session_id for run in importer.runs}) == len(paths) - 1


def test_a_store_that_is_not_there_ends_the_command(tmp_path: Path) -> None:
    releases(tmp_path)
    importer = Importer(Unavailable("the disk is full", code="store.full", hint="make room"))
    with pytest.raises(Unavailable):
        stored(importer, Failing("none of them"), tmp_path)


@pytest.mark.parametrize(
    "error", [KeyError(SECRET_WORD), RecursionError(SECRET_WORD), ValueError(SECRET_WORD)]
)
def test_a_mistake_is_told_by_its_kind_and_without_its_words(error: Exception) -> None:
    problems: list[str] = []
    with isolate_errors(problems.append):
        raise error
    assert problems == [f"Runlore failed here: {type(error).__name__}"]


def test_a_path_is_shown_whatever_it_is_called() -> None:
    assert printable_path(os.fsdecode(b"/srv/a\xff.jsonl")) == "/srv/a\\xff.jsonl"
    assert printable_path("/srv/\u00e4.jsonl") == "/srv/\u00e4.jsonl"


def test_names_that_are_no_text_are_read_shown_and_stored(embedded: Runlore, tmp_path: Path) -> None:
    folder = tmp_path / "names"
    [path] = releases(folder, 1)
    names = [b"good\xff.jsonl", b"plain\xff.jsonl", b"bad\xff.jsonl"]
    contents = [path.read_bytes(), b'{"role":"user","content":"hi"}\n', b"\x00binary"]
    for name, content in zip(names, contents, strict=True):
        other = os.fsencode(folder) + b"/" + name
        with open(other, "wb") as file:
            file.write(content)
        settle(Path(os.fsdecode(other)))
    for options in (["--dry-run"], []):
        told = embedded.json("learn", str(folder), *options)
        assert told["runs"] == 2
        assert [Path(each["path"]).name for each in told["unsupported"]] == ["bad\\xff.jsonl"]


@pytest.mark.parametrize("program", ["-a -a", "--a", "- make", "''", "=x"])
def test_a_flag_in_the_place_of_a_program_ends_nothing(
    embedded: Runlore, tmp_path: Path, program: str
) -> None:
    calls = [(program, "error: unknown option", 2), ("make x", "ok", 0), (program, "ok", 0), ("-b", "ok", 0)]
    write_session(tmp_path / "s", "a", [("Do it", calls), ("Again", calls)])
    told = embedded.json("learn", str(tmp_path / "s"), "--dry-run")
    assert (told["runs"], told["unsupported"]) == (2, [])
