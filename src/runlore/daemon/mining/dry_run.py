"""A dry run: transcripts are read, mined and looked through in this command alone, and nothing is stored.

Files are read by as many processes as the machine has cores, where there is enough to read; what comes of
them is put together in the order of the files, so that it is the same however many read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial

from runlore.daemon.mining.daily_tally import DailyTally
from runlore.daemon.mining.findings import (
    Example,
    LearnFindings,
    RunWords,
    Totals,
    UserWords,
    printable_path,
    readable,
)
from runlore.daemon.mining.process_pool import Task, cores, run_tasks
from runlore.daemon.mining.project_instructions import read_instructions
from runlore.daemon.mining.source_reader import SourceRead, in_order, isolate_errors
from runlore.daemon.mining.worker import read_here
from runlore.domain import limits
from runlore.domain.detectors.cross_session import CrossSession
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import MinedRun, OutsideRead, first_reads
from runlore.domain.detectors.session import matches_of_session
from runlore.domain.run import RunId
from runlore.domain.runs.transcript import TranscriptSource
from runlore.domain.session import SessionId
from runlore.domain.skills.repetition import procedures_beside
from runlore.domain.suggesting.already_documented import Instructions, only_new
from runlore.domain.suggesting.own_origin import origins_of
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggesting.support import is_repeated_work
from runlore.domain.suggestion import Suggestion
from runlore.ports.operations import Progress, ignore_progress

# Below this much, starting processes takes longer than they save.
ALONE_BYTES_MAX = 8 * 1024**2
BUNDLE_BYTES = 1024**2
BUNDLE_FILES_MAX = 64
# Where something went wrong that is of no file.
TOGETHER = "(several sessions together)"


# Reads sources from their beginnings, and answers in their order.
ReadAll = Callable[[Sequence[TranscriptSource], Progress], list[tuple[TranscriptSource, SourceRead]]]


def look_through(
    sources: Sequence[TranscriptSource],
    *,
    workers: int | None = None,
    read_all: ReadAll | None = None,
    progress: Progress = ignore_progress,
) -> LearnFindings:
    """Read these sources and answer with what they show. `read_all` is who reads: as many processes here as
    there are cores, where neither it nor `workers` says otherwise."""
    gathered = _Gathered(sums=Totals())
    _gather(sources, gathered, read_all or partial(_read_all, workers=workers), progress)
    sessions = gathered.in_order()
    matches = gathered.matches(sessions)
    origins = origins_of(sessions.values())
    found = only_new(suggestions_of(matches, origins=origins), gathered.instructions())
    repeated = suggestions_of(matches, is_wanted=is_repeated_work, origins=origins)
    findings = gathered.findings(found, sessions, matches)
    return replace(findings, procedures=procedures_beside(repeated, found))


def look_again(
    sources: Sequence[TranscriptSource],
    suggestions: Iterable[Suggestion],
    *,
    runs: frozenset[RunId],
    read_all: ReadAll | None = None,
    progress: Progress = ignore_progress,
) -> LearnFindings:
    """What these sources tell of runs that a store has, beside what waits there. All others are neither
    counted nor quoted: what was forgotten, what was never stored."""
    gathered = _Gathered(sums=Totals(), only=runs)
    _gather(sources, gathered, read_all or partial(_read_all, workers=None), progress)
    return gathered.findings(tuple(suggestions), gathered.in_order())


def _gather(
    sources: Sequence[TranscriptSource], gathered: "_Gathered", read_all: ReadAll, progress: Progress
) -> None:
    known = readable(sources, gathered.sums)
    for source, read in read_all(known, progress):
        gathered.add(source, read)


def examples_of(
    suggestions: Iterable[Suggestion], sessions: Mapping[SessionId, Sequence[MinedRun]]
) -> dict[str, Example]:
    """For each pattern the latest time that it was seen, as far as these sessions tell it."""
    runs = {run.run_id: run for mined in sessions.values() for run in mined}
    return {
        suggestion.pattern: example
        for suggestion in suggestions
        if (example := _example(suggestion, runs)) is not None
    }


@dataclass(kw_only=True)
class _Gathered:
    """What came of all sources so far, in their order; of these runs alone, where any are named."""

    sums: Totals
    only: frozenset[RunId] | None = None
    tally: DailyTally = field(default_factory=DailyTally)
    words: list[RunWords] = field(default_factory=list)
    projects: dict[SessionId, str] = field(default_factory=dict)
    folders: dict[SessionId, str] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)
    settles_at: datetime | None = None
    _sessions: dict[SessionId, dict[int, MinedRun]] = field(default_factory=dict)
    _earlier: dict[SessionId, tuple[OutsideRead, ...]] = field(default_factory=dict)
    # What a session shows, where one source tells all of it; None where several do.
    _matches: dict[SessionId, tuple[Match, ...] | None] = field(default_factory=dict)
    _instructions: dict[str, tuple[Instructions, ...]] = field(default_factory=dict)

    def add(self, source: TranscriptSource, read: SourceRead) -> None:
        """Take what came of the next source. A run that an earlier one has told is not taken again."""
        self.sums.add(source, read.counts)
        for problem in dict.fromkeys(read.problems):
            self.sums.add_unread(source, problem)
        self.left.update(read.left)
        self.settles_at = max(filter(None, (self.settles_at, read.settles_at)), default=None)
        tallies = [tally for tally in read.tallies if self._is_taken(tally.run_id)]
        for tally in tallies:
            self.sums.add_run(source, tally.session_id, tally.run_id)
        self.tally.add(tallies)
        taken = {tally.run_id for tally in tallies}
        said = (words for words in read.words if words.run_id in taken)
        self.words += [
            replace(words, persona_id=source.persona_id) if source.persona_id else words for words in said
        ]
        self._instructions |= read.instructions
        self.projects = read.projects | self.projects
        self.folders = read.folders | self.folders
        for session_id, latest in read.sessions.items():
            is_first = session_id not in self._sessions and session_id not in self._earlier
            self._matches[session_id] = read.matches[session_id] if is_first else None
            runs = self._sessions.setdefault(session_id, {})
            for ordinal, mined in latest:
                if self._is_taken(mined.run_id):
                    runs.setdefault(ordinal, mined)
            for ordinal in sorted(runs)[: -limits.SESSION_RUNS_MINED_MAX]:
                self._note(session_id, runs.pop(ordinal).outside)
        for session_id, reads in read.earlier.items():
            self._note(session_id, reads)
            if session_id in self._sessions and session_id not in read.sessions:
                # It was looked through without knowing of these.
                self._matches[session_id] = None

    def _note(self, session_id: SessionId, reads: tuple[OutsideRead, ...]) -> None:
        if reads:
            self._earlier[session_id] = first_reads((*self._earlier.get(session_id, ()), *reads))

    def findings(
        self,
        suggestions: tuple[Suggestion, ...],
        sessions: Mapping[SessionId, Sequence[MinedRun]],
        matches: Iterable[Match] = (),
    ) -> LearnFindings:
        """All of it, with what is suggested."""
        asked = (each for each in matches if each.heuristic is Heuristic.EXPLICIT_INSTRUCTION)
        return LearnFindings(
            reading=self.sums.reading(),
            left=dict(sorted(self.left.items())),
            settles_at=self.settles_at,
            ended_at=tuple(self.tally.ended_at),
            days=self.tally.days(),
            suggestions=suggestions,
            examples=examples_of(suggestions, sessions),
            heard=UserWords(
                runs=tuple(self.words),
                projects=self.projects,
                folders=self.folders,
                instructions=tuple(asked),
            ),
        )

    def instructions(self) -> Callable[[Suggestion], list[tuple[Instructions, ...]]]:
        """The instructions of the folders in which something was seen; each is read once."""
        told = self._instructions
        read = cache(lambda folder: told[folder] if folder in told else read_instructions(folder))
        return lambda seen: [
            read(folder)
            for folder in dict.fromkeys(self.folders.get(each.session_id, "") for each in seen.evidence)
        ]

    def _is_taken(self, run_id: RunId) -> bool:
        return self.only is None or run_id in self.only

    def in_order(self) -> dict[SessionId, tuple[MinedRun, ...]]:
        """The sessions by their ids, each with its runs in order."""
        return {
            session_id: in_order(runs, self._earlier.get(session_id, ()))
            for session_id, runs in sorted(self._sessions.items())
        }

    def matches(self, sessions: Mapping[SessionId, Sequence[MinedRun]]) -> list[Match]:
        """What each session shows, and what all of them show together."""
        across = CrossSession()
        found: list[Match] = []
        for session_id, runs in sessions.items():
            shown = self._matches[session_id]
            with isolate_errors(self._note_mishap):
                found.extend(matches_of_session(runs) if shown is None else shown)
                across.add(runs)
        with isolate_errors(self._note_mishap):
            found.extend(across.matches())
        return found

    def _note_mishap(self, problem: str) -> None:
        self.sums.add_mishap(TOGETHER, problem)


def _read_all(
    sources: Sequence[TranscriptSource], progress: Progress, *, workers: int | None
) -> "list[tuple[TranscriptSource, SourceRead]]":
    total = sum(source.bytes for source in sources)
    if workers is None:
        workers = cores() if total > ALONE_BYTES_MAX else 1
    tasks = [Task(job=source, name=printable_path(source.path)) for source in sources]
    done: Counter[int] = Counter()
    so_far = 0

    def report(place: int, read_bytes: int) -> None:
        nonlocal so_far
        # What is packed is longer than its file.
        read = min(read_bytes, sources[place].bytes)
        so_far += read - done[place]
        done[place] = read
        progress(so_far, total)

    reads: dict[int, SourceRead] = {}
    here = _here(sources, workers)
    for place, read in run_tasks(
        read_here,
        tasks,
        bundles=_bundles(sources),
        workers=workers,
        progress=report,
        lost=_lost_source,
        here=here,
    ):
        reads[place] = read
        report(place, sources[place].bytes)
    return [(source, reads[place]) for place, source in enumerate(sources)]


def _lost_source(how: str) -> SourceRead:
    """A source that killed the process that read it, as one too large for the machine's memory does."""
    return SourceRead(problems=[f"the process that read it {how}"])


def _here(sources: Sequence[TranscriptSource], workers: int) -> frozenset[int]:
    """What the command itself may read beside the processes that it has started: what it would read alone as
    well, and nothing where that is less than its share."""
    small = frozenset(place for place, source in enumerate(sources) if source.bytes <= ALONE_BYTES_MAX)
    size = sum(sources[place].bytes for place in small)
    return small if size * workers >= sum(source.bytes for source in sources) else frozenset()


def _bundles(sources: Sequence[TranscriptSource]) -> list[list[int]]:
    """Small files together, so that handing them out does not take longer than reading them; the largest
    first, so that none is begun when the others have ended."""
    bundles: list[list[int]] = []
    room = 0
    for place in sorted(range(len(sources)), key=lambda place: (-sources[place].bytes, place)):
        size = sources[place].bytes
        if not bundles or size > room or len(bundles[-1]) >= BUNDLE_FILES_MAX:
            bundles.append([])
            room = BUNDLE_BYTES
        bundles[-1].append(place)
        room -= size
    return bundles


def _example(suggestion: Suggestion, runs: Mapping[RunId, MinedRun]) -> Example | None:
    """The latest evidence whose run is at hand."""
    for evidence in reversed(suggestion.evidence):
        run = runs.get(evidence.run_id)
        if run is None:
            continue
        numbers = frozenset(evidence.event_numbers)
        return Example(
            agent=run.agent,
            session_id=run.session_id,
            run_id=run.run_id,
            project=run.project,
            at=evidence.at,
            request=run.request.own if run.request else "",
            steps=tuple(step for step in run.steps if step.number in numbers),
        )
    return None
