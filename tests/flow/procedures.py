"""Sessions that show skills, told as transcripts, and what a dry run over them suggests."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from runlore.domain.detectors.cross_session import CrossSession
from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mining import mine_transcript_run
from runlore.domain.detectors.session import matches_of_session
from runlore.domain.runs.transcript import ToldRun
from runlore.domain.suggesting.own_origin import origins_of
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import StoredSuggestion, Suggestion, SuggestionState
from runlore.ports import operations as ops
from tests.flow.telling import THEN, call, in_session, told
from tests.world import World

RELEASE = (call("npm ci"), call("npm run migrate -- --env staging"), call("npm test"), call("npm run build"))
# One session is enough where the error says what is wrong with the command.
MENDED = (
    call("npm run migrate -- --env staging", 1, 'npm error Missing script: "migrate"'),
    call("npm run db:migrate -- --env staging"),
)
MISSING = "ModuleNotFoundError: No module named 'x'"
RECOVERY = (call("pytest -x tests/a.py", 1, MISSING), call("pip install x"), call("pytest -x tests/a.py"))


def session(name: str, *runs: ToldRun, at: datetime = THEN) -> tuple[ToldRun, ...]:
    """A session of these runs."""
    return in_session(*runs, source_session=name, at=at)


def working_sessions(count: int = 3) -> list[tuple[ToldRun, ...]]:
    """Sessions that all show a release, a recovery and a correction."""
    return [
        session(
            f"work-{number}",
            told("Release the service", *RELEASE, "Released"),
            told("no, use pnpm instead", call("pnpm install"), call("pnpm test")),
            told("Run the tests", *RECOVERY),
            at=THEN - timedelta(days=number),
        )
        for number in range(count)
    ]


def dry_run(sessions: Iterable[Sequence[ToldRun]], project: str = "") -> tuple[Suggestion, ...]:
    """What these sessions suggest when nothing is stored."""
    across = CrossSession()
    matches: list[Match] = []
    every = [[mine_transcript_run(run, project=project) for run in runs] for runs in sessions]
    for mined in every:
        across.add(mined)
        matches.extend(matches_of_session(mined))
    return suggestions_of([*matches, *across.matches()], origins=origins_of(every))


def suggest(world: World, *, enhance: bool = False) -> ops.SuggestAnswer:
    """Look for skills in all that was mined."""
    return world.operator.suggest(ops.SuggestRequest(enhance=enhance))


def listed(world: World, *states: SuggestionState) -> tuple[StoredSuggestion, ...]:
    """All suggestions, the best first, whatever their state unless named."""
    items: list[StoredSuggestion] = []
    cursor = None
    while True:
        asked = frozenset(states or SuggestionState)
        page = world.operator.list_suggestions(ops.SuggestionsRequest(states=asked, limit=2, cursor=cursor))
        items.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return tuple(items)


def stored_suggestions(world: World) -> dict[str, Suggestion]:
    """What is suggested, by its pattern."""
    return {stored.suggestion.pattern: stored.suggestion for stored in listed(world)}
