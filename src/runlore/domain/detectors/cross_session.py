"""`cross-session`: procedures that several sessions show, and no single one does (SKL-2).

What was asked for, with all that was done for it by whichever tool, is one episode. Episodes have one purpose
where they share an act that tells it: one that opens a pull request, answers a comment or rolls out a
release. Edits, commits, tests and tasks of the project tell none. Two sessions are enough where the same
words ask for it, four without such words, five for what only asks a server. An everyday command is told
where two or three sessions give it the same setting of the project, and two or three calls that are all a
run did where three sessions did just these. A failure that two sessions met is told as an `error-recovery`,
with what put it right; a linter's finding where three sessions broke the same rule.

A session counts once however often it repeats something, and so does a run that stands in two sessions.
Sessions of one project and of several count alike: each occurrence names its project. What is found does not
depend on the order in which sessions are added.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from heapq import heappop, heappush

from runlore.domain.detectors.conversations import Conversation, last_event
from runlore.domain.detectors.episodes import (
    WorkEpisode,
    episodes_of,
    is_done,
    stems_of,
    words_of_request,
)
from runlore.domain.detectors.match import Copy, Heuristic, Match, Occurrence, copy_of, make_occurrence
from runlore.domain.detectors.mined import CommandKind, MinedRun, Outcome, Step, StepCommand
from runlore.domain.detectors.multi_step import STEPS_MIN, multi_step
from runlore.domain.detectors.purpose_groups import (
    NAME_WORDS_MAX,
    PurposeGroup,
    group_by_purpose,
    specific_groups,
)
from runlore.domain.detectors.toolchains import is_of_project
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId

SHORT_MIN = 2
REQUESTED = "requested: "
"""What the pattern begins with of one call and what was asked for."""
_NUMBERED = re.compile(r"\d")


# What is held in memory: beyond it the oldest sessions are let go.
STEPS_HELD_MAX = 200_000
OCCURRENCE_STEPS_MAX = 120


class CrossSession:
    """Collects sessions in any order, and says at the end what several of them show."""

    def __init__(self, *, steps_max: int = STEPS_HELD_MAX) -> None:
        self._steps_max = steps_max
        self._sessions: dict[SessionId, dict[RunId, MinedRun]] = {}
        self._steps = 0
        self._ages: list[tuple[datetime, SessionId]] = []
        self._let_go = (datetime.min.replace(tzinfo=UTC), SessionId(""))

    def add(self, session_runs: Sequence[MinedRun]) -> None:
        """Take in the runs of one session, all at once. The same runs again change nothing."""
        for run in session_runs:
            kept = replace(run, steps=tuple(step for step in run.steps if _is_kept(step)))
            runs = self._sessions.setdefault(run.session_id, {})
            known = runs.get(run.run_id)
            # A copy of a run may have been made before the run had ended.
            if known is None or _size(known) < _size(kept):
                self._steps += len(kept.steps) - (len(known.steps) if known else 0)
                runs[run.run_id] = kept
        for session_id in {run.session_id for run in session_runs}:
            self._evict_oldest(session_id)

    def matches(self) -> tuple[Match, ...]:
        """What several sessions show, what most of them do first; then the short workflows of each."""
        sessions = self._count_runs_once()
        of_episode: dict[int, Conversation] = {}
        episodes: list[WorkEpisode] = []
        for session in sessions:
            for episode in episodes_of(session.runs):
                of_episode[id(episode)] = session.conversation
                episodes.append(episode)
        groups = (*group_by_purpose(episodes), *specific_groups(episodes))
        return (
            *(_match(group, of_episode) for group in groups),
            *_short_workflows(sessions),
        )

    def _count_runs_once(self) -> list["_Session"]:
        """The sessions by id, a run that stands in several of them only in the one that has most runs: under
        its own id, or copied into a session that went on from there."""
        taken: set[RunId | Copy] = set()
        counted: dict[SessionId, _Session] = {}
        for session_id in sorted(self._sessions, key=lambda each: (-len(self._sessions[each]), each)):
            runs = sorted(self._sessions[session_id].values(), key=_first_event)
            counted[session_id] = _Session(
                runs=[None if not taken.isdisjoint(_known_by(run)) else run for run in runs],
                conversation=Conversation(runs),
            )
            taken.update(known for run in runs for known in _known_by(run))
        return [counted[session_id] for session_id in sorted(counted)]

    def _evict_oldest(self, session_id: SessionId) -> None:
        """Let the oldest sessions go where more is held than may be, and whatever is older than those.

        What is left are always the latest sessions of all, in whichever order they came.
        """
        heappush(self._ages, self._age(session_id))
        while self._ages and (self._steps > self._steps_max or self._ages[0] <= self._let_go):
            age = heappop(self._ages)
            if age[1] in self._sessions and age == self._age(age[1]):
                self._let_go = max(age, self._let_go)
                self._steps -= sum(len(run.steps) for run in self._sessions.pop(age[1]).values())

    def _age(self, session_id: SessionId) -> tuple[datetime, SessionId]:
        return max(run.at for run in self._sessions[session_id].values()), session_id


@dataclass(frozen=True, kw_only=True, slots=True)
class _Session:
    """The runs of a session in their order; None stands for one that is told with another session."""

    runs: Sequence[MinedRun | None]
    conversation: Conversation


def _short_workflows(sessions: Iterable[_Session]) -> list[Match]:
    return [
        session.conversation.mark_match(found)
        for session in sessions
        for run in session.runs
        if run is not None and (found := short_workflow(run)) is not None
    ]


def _known_by(run: MinedRun) -> Iterator[RunId | Copy]:
    yield run.run_id
    copied = copy_of(run.steps)
    if copied is not None:
        yield copied


def _first_event(run: MinedRun) -> tuple[int, RunId]:
    return min((step.number for step in run.steps), default=0), run.run_id


def _size(run: MinedRun) -> tuple[object, ...]:
    """By what the fuller of two copies of a run is told, whichever comes first."""
    calls = tuple((step.number, step.text, step.outcome) for step in run.steps)
    return len(run.steps), last_event(run.steps), calls, run.project


def _is_kept(step: Step) -> bool:
    return bool(step.tool) or step.outcome is Outcome.FAILED or any(map(_is_told, step.commands))


def _is_told(command: StepCommand) -> bool:
    return is_done(command) or command.kind in (CommandKind.FILES, CommandKind.MOVING)


def _match(group: PurposeGroup, of_episode: Mapping[int, Conversation]) -> Match:
    occurrences = [_occurrence(each, of_episode[id(each)]) for each in group.episodes]
    ordered = sorted(occurrences, key=lambda found: (found.steps[-1].at, found.session_id))
    return Match(
        heuristic=Heuristic.CROSS_SESSION,
        pattern=group.pattern,
        occurrences=tuple(ordered),
        words=group.words,
        variants=group.variants,
    )


def _occurrence(episode: WorkEpisode, conversation: Conversation) -> Occurrence:
    steps = episode.steps[:OCCURRENCE_STEPS_MAX]
    return replace(
        make_occurrence(episode.run, steps),
        provenance=conversation.read_by(last_event(steps)),
        request=episode.request,
    )


def workflow_of(run: MinedRun) -> Match | None:
    """What a run did from its beginning to its end, as far as it could be a procedure."""
    return multi_step([run]) or short_workflow(run)


def short_workflow(run: MinedRun) -> Match | None:
    """The two or three calls that are all a run did, or the one of the project with what it was made for."""
    steps = tuple(step for step in run.steps if not step.is_looking)
    if not 0 < len(steps) < STEPS_MIN or any(step.outcome is not Outcome.SUCCEEDED for step in steps):
        return None
    forms = {step.form for step in steps}
    # A script's name is a value: two scripts are two steps all the same.
    does = [step.form if len(forms) == len(steps) else _named_form(step) for step in steps]
    if len({*does}) < len(steps):
        return None
    workflow = Match(
        heuristic=Heuristic.CROSS_SESSION,
        pattern=" ; ".join(does),
        occurrences=(make_occurrence(run, steps),),
    )
    return workflow if len(steps) >= SHORT_MIN else _with_request(workflow, run)


def _named_form(step: Step) -> str:
    return " && ".join(f"{each.form} ({each.topic})" for each in step.commands if not each.is_looking)


def _with_request(workflow: Match, run: MinedRun) -> Match | None:
    """One call with the words that asked for it, by which it is told from the same call for something else;
    None where any project makes it."""
    ((step,),) = (each.steps for each in workflow.occurrences)
    commands = [each for each in step.commands if not each.is_looking]
    asked = tuple(word for word in words_of_request(run.request) if not _NUMBERED.search(word))
    if not asked or not any(map(is_of_project, commands)):
        return None
    pattern = f"{REQUESTED}{' '.join(sorted(stems_of(asked)))}: {_named_form(step)}"
    return replace(workflow, pattern=pattern, words=asked[:NAME_WORDS_MAX])


def equal_runs(pattern: str, sessions: Iterable[Sequence[MinedRun]]) -> list[Match]:
    """The runs of these sessions that did this in the same order, as a run ends (CAP-9)."""
    found: list[Match] = []
    for runs in sessions:
        conversation = Conversation(runs)
        same = (workflow_of(run) for run in runs)
        found += [conversation.mark_match(each) for each in same if each and each.pattern == pattern]
    return found
