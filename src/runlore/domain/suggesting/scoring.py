"""How much a suggestion promises, from 0 to 100, each part with its reason."""

from collections.abc import Iterator

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.recovery_texts import is_about_command
from runlore.domain.suggesting.fixes import is_fix
from runlore.domain.suggesting.harm import goes_around, loosens, takes_away
from runlore.domain.suggesting.one_off_values import is_own
from runlore.domain.suggesting.parameters import Written
from runlore.domain.suggestion import Score, ScorePart

SCORE_MIN = 40
# Each with the points that its findings begin with, and why.
STRENGTH = {
    Heuristic.EXPLICIT_INSTRUCTION: (60, "the user asked for it"),
    Heuristic.CROSS_SESSION: (50, "several sessions show it"),
    Heuristic.USER_CORRECTION: (55, "the user corrected the command"),
    Heuristic.ERROR_RECOVERY: (45, "a failure was put right"),
    Heuristic.MULTI_STEP: (40, "the steps worked in a row"),
    Heuristic.REPEATED_ACTION: (40, "the command was run again and again"),
}
DAYS_APART = 7


def score_match(match: Match, written: Written) -> Score:
    """The sum of what speaks for a match and against it."""
    parts = [part for part in _parts(match, written) if part.points]
    points = sum(part.points for part in parts)
    if match.heuristic is Heuristic.EXPLICIT_INSTRUCTION and points < SCORE_MIN:
        parts.append(ScorePart(reason="what the user asked for is not dropped", points=SCORE_MIN - points))
        points = SCORE_MIN
    return Score(points=max(0, min(100, points)), parts=tuple(parts))


def _parts(match: Match, written: Written) -> Iterator[ScorePart]:
    points, reason = STRENGTH[match.heuristic]
    yield ScorePart(reason=reason, points=points)
    yield from _score_frequency(match)
    if match.words:
        yield ScorePart(reason=f"it is asked for with the words {', '.join(match.words)}", points=15)
    if is_fix(match) and any(is_about_command(each.steps[0].error) for each in match.occurrences):
        yield ScorePart(reason="the error is about the command", points=15)
    lines = written.lines[1:] if is_fix(match) else written.lines
    commands = [command for line in lines for command in line.commands]
    if match.heuristic is not Heuristic.EXPLICIT_INSTRUCTION and any(map(goes_around, commands)):
        yield ScorePart(reason="it goes around what the project has set up", points=-30)
    if is_fix(match) and any(map(loosens, commands)):
        yield ScorePart(reason="it lets everybody write", points=-100)
    if any(map(takes_away, commands)):
        reason = "it takes something away without a look at it"
        yield ScorePart(reason=reason, points=-60 if is_fix(match) else -15)
    own = sum(map(is_own, commands))
    yield ScorePart(reason="programs of the moment", points=-min(40, 20 * own))
    scripts = sum(line.is_script for line in lines)
    yield ScorePart(reason="scripts of the moment", points=-min(60, 30 * scripts))


def _score_frequency(match: Match) -> Iterator[ScorePart]:
    """How often, where and for how long; the first time counts for nothing."""
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    times = len(match.occurrences)
    if sessions > 1:
        points = min(25, 10 + 5 * (sessions.bit_length() - 2))
        yield ScorePart(reason=f"seen in {sessions} sessions", points=points)
    if times > sessions:
        yield ScorePart(reason=f"seen {times} times", points=min(10, 2 * (times - sessions).bit_length()))
    projects = {occurrence.project for occurrence in match.occurrences if occurrence.project}
    if len(projects) > 1:
        yield ScorePart(reason=f"seen in {len(projects)} projects", points=5)
    moments = [step.at for occurrence in match.occurrences for step in occurrence.steps]
    days = (max(moments) - min(moments)).days
    if days >= DAYS_APART:
        yield ScorePart(reason=f"seen over {days} days", points=5)
    known = [
        step.outcome is Outcome.SUCCEEDED
        for occurrence in match.occurrences
        for step in occurrence.steps
        if step.outcome in (Outcome.SUCCEEDED, Outcome.FAILED)
    ]
    if not is_fix(match) and known:
        share = sum(known) / len(known)
        yield ScorePart(reason=f"{share:.0%} of its calls succeeded", points=round(10 * (share - 0.5)))
