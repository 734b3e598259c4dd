"""When a step of a procedure is done, where that is not always: a push, and what mends what was listed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Match
from runlore.domain.suggesting.clean_run import CHECKS, only_looks, verbs_of
from runlore.domain.suggesting.covering import bare
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.parameters import COMMITTED, Written

SENDING = {
    "git push": "Where the change is to go out",
    "gh pr create": "For a pull request",
    "glab mr create": "For a merge request",
    "gh pr checks": "To see what the pipeline says",
}
"""What sends checked work out, in the order in which it is done, and when it is done."""
MENDING = "Where it lists any"
_TAG = "git tag"
_PROPOSING = frozenset({"git push", "gh pr create", "glab mr create"})
_COMMIT = "git commit"


def add_notes(written: Written, match: Match) -> Written:
    """A procedure with what is to be said about when its steps are done."""
    notes = [written.note(place) for place in range(len(written.lines))]
    _mend(written.lines, notes)
    if _leaves_commits_out(written, match):
        tagged = next((at for at, line in enumerate(written.lines) if _tags(line)), None)
        if tagged is not None and not notes[tagged] and _is_committed_before_tag(match):
            notes[tagged] = COMMITTED
        else:
            _send(written.lines, notes)
    return replace(written, notes=tuple(notes)) if any(notes) else written


def sent_by(line: Line) -> str:
    """Which of the ways to send work out a line is; empty where it is none."""
    acts = [act_of(command.form) for command in line.commands if not command.is_looking]
    return acts[0] if len(acts) == 1 and acts[0] in SENDING else ""


def _mend(lines: Sequence[Line], notes: list[str]) -> None:
    """What rewrites files behind what lists those that need it is for these alone."""
    for place, (listing, mending) in enumerate(pairwise(lines)):
        if not notes[place] and not notes[place + 1] and _is_pair(listing, mending):
            notes[place + 1] = MENDING


def _is_pair(listing: Line, mending: Line) -> bool:
    ours, theirs = ([bare(each.form) for each in line.commands] for line in (listing, mending))
    is_formatting = verbs_of(listing) == verbs_of(mending) == {"format"}
    return ours == theirs and is_formatting and only_looks(listing) and not only_looks(mending)


def _leaves_commits_out(written: Written, match: Match) -> bool:
    told = (command.form for line in written.lines for command in line.commands)
    if any(form.startswith(_COMMIT) for form in told):
        return False
    steps = (step for occurrence in match.occurrences for step in occurrence.steps)
    return any(command.form.startswith(_COMMIT) for step in steps for command in step.commands)


def _tags(line: Line) -> bool:
    return any(act_of(command.form) == _TAG for command in line.commands if not command.is_looking)


def _is_committed_before_tag(match: Match) -> bool:
    """Whether a commit stood before the tag the last time that there were both."""
    for occurrence in reversed(match.occurrences):
        acts = [act_of(command.form) for step in occurrence.steps for command in step.commands]
        if _TAG in acts and _COMMIT in acts:
            return acts.index(_COMMIT) < acts.index(_TAG)
    return False


def _send(lines: Sequence[Line], notes: list[str]) -> None:
    """The first step that sends work out comes after the commits that are not told."""
    place = next((place for place, line in enumerate(lines) if sent_by(line) in _PROPOSING), None)
    if place is None:
        return
    is_check = any(verbs_of(line) & CHECKS for line in lines)
    when = notes[place] or (SENDING[sent_by(lines[place])] if is_check else "")
    notes[place] = f"{COMMITTED}, {when[0].lower()}{when[1:]}" if when else COMMITTED
