"""How to see that a procedure worked: by the checks at its end, else by its last step that does something,
and of a deployment by what shows that it runs.

A check proves what was done before it: what only prepares the outcome does not prove it. Sending a change is
no outcome, pushing the tag of a version is one. What takes something away is never how to see that: nobody
should run it to find out.
"""

from collections.abc import Sequence

from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.suggesting.goals import goal_of
from runlore.domain.suggesting.harm import harms
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.parameters import Written
from runlore.domain.suggesting.passes import is_pipeline, only_looks, verbs_of
from runlore.domain.suggesting.purposes import PURPOSES, is_sending, purpose_of

_DEPLOYING = frozenset({"deploy", "restart"})
_ANSWERING = frozenset({"verify", "request", "test"})


def checking_places(written: Written, *, is_fix: bool) -> list[int]:
    """The places of the steps that say whether it worked; none where each takes something away."""
    safe = [at for at, line in enumerate(written.lines) if not any(map(harms, line.commands))]
    if is_fix:
        return safe[-1:] if safe[-1:] == [len(written.lines) - 1] else []
    core = [at for at in safe if written.is_always(at)]
    if goal_of(_done(written.core)) == PURPOSES["deploy"].goal:
        return _of_deployment(written, core)
    done = [at for at in core if _does_something(written.lines[at]) or pushes_version(written, at)]
    outcome = max((at for at in done if not _is_check(written.lines[at])), default=-1)
    return [at for at in done if at > outcome] or done[-1:] or core[-1:] or safe[-1:]


def pushes_version(written: Written, place: int) -> bool:
    """Whether a step pushes a version that it, or a step before it, has tagged."""
    acts = [[act_of(command.form) for command in line.commands] for line in written.lines[: place + 1]]
    return "git push" in acts[place] and any("git tag" in line for line in acts)


def last_check(written: Written, before: int) -> int | None:
    """The last check that is always done before a step."""
    places = (at for at in range(before - 1, -1, -1) if written.is_always(at))
    return next((at for at in places if _is_check(written.lines[at])), None)


def _of_deployment(written: Written, core: Sequence[int]) -> list[int]:
    """What asks whether it runs, behind what deploys it; without that, the last step that deploys."""
    deploying = [at for at in core if verbs_of(written.lines[at]) & _DEPLOYING]
    asking = [at for at in core if verbs_of(written.lines[at]) & _ANSWERING]
    behind = [at for at in asking if not deploying or at > deploying[-1]]
    return behind[-1:] if behind else deploying[-1:] or list(core[-1:])


def _is_check(line: Line) -> bool:
    """Whether a line says if something is as it should be."""
    purposes = [purpose for command in line.commands if (purpose := purpose_of(command))]
    is_listing = only_looks(line) and any(purpose.verb == "format" for purpose in purposes)
    return is_listing or any(purpose.checks for purpose in purposes)


def _does_something(line: Line) -> bool:
    """Whether there is anything to prove in a line, or by it: it neither looks around, serves the shell or
    prints, nor does it only send the change that was made."""
    works = [each for each in line.commands if each.kind is CommandKind.WORK and not each.is_looking]
    return _is_check(line) or not (is_pipeline(line) or all(map(is_sending, works)))


def _done(lines: Sequence[Line]) -> list[StepCommand]:
    return [command for line in lines for command in line.commands if not command.is_looking]
