"""Reading in two goes: what was whole the first time and what came the second must be what one go tells."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from runlore.domain.runs.transcript import START, ReadCounts, ToldRun, TranscriptAgent, TranscriptSource
from tests.agents.transcripts.transcript_files import JUST_NOW, LONG_AGO, dated, local


def source_at(path: Path, agent: TranscriptAgent, changed_at: datetime) -> TranscriptSource:
    """The file as a source of this agent, whatever can be recognised of it."""
    dated(path, changed_at)
    return TranscriptSource(path=str(path), agent=agent, bytes=path.stat().st_size, modified_at=changed_at)


def in_two_goes(
    path: Path, agent: TranscriptAgent, *, put: Callable[[bool], None]
) -> tuple[list[ToldRun], list[ToldRun]]:
    """The runs of a transcript that is read half-written and then to its end, and those of reading it once.

    `put` writes the transcript, half of it or all.
    """
    put(False)
    first = list(local().read(source_at(path, agent, JUST_NOW), ReadCounts()))
    assert all(run.is_whole for run in first[:-1])
    whole = [run for run in first if run.is_whole]
    put(True)
    source = source_at(path, agent, LONG_AGO)
    start = whole[-1].after if whole else START
    rest = list(local().read(source, ReadCounts(), start))
    return [*whole, *rest], list(local().read(source, ReadCounts()))


def facts(runs: list[ToldRun]) -> list[tuple[object, ...]]:
    """What is told of runs, without where reading would go on and what the session was called later."""
    return [
        (
            run.run_id,
            run.ordinal,
            run.first_number,
            run.events,
            run.status,
            run.folder,
            run.branch,
            run.model,
            run.agent_version,
        )
        for run in runs
    ]


def cuts(content: bytes) -> list[int]:
    """Where a file may end while it is being written: at each line, in its middle, and before its newline."""
    found, start = [0], 0
    for line in content.splitlines(keepends=True):
        found += [start + len(line) // 2, start + len(line) - 1, start + len(line)]
        start += len(line)
    return found
