"""From a row of calls to a procedure: each thing that is done told once, without what served the moment.

A call that does several things is told as several steps, a `cd` with what follows it. What was done again and
again is told where it was done first; in a short row, a check where it was done last. Commits of particular
files, edits, and scripts that were made up for once are left out, unless nothing else is there. In a short
row the calls stay as they are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.lines import PIPES, Line
from runlore.domain.suggesting.one_off_values import is_momentary
from runlore.domain.suggesting.purposes import CommandPurpose, console_words, is_trying, purpose_of

Key = tuple[str, ...]
# A row that is no longer than this is told as it is: there is nothing to be made shorter.
SHORT_LINES = 6
# So often is the same thing with other values one step and not several.
OFTEN = 3
# Of so many lines one may handle files.
FILES_SHARE = 3
BETWEEN_FORMS = " ; "

# What git does with a work that is under way; which files and which words is different every time.
_OF_THE_MOMENT = frozenset(
    ("add", "commit", "stash", "reset", "restore", "rm", "mv", "checkout", "switch", "branch", "apply", "am",
     "revert", "cherry-pick", "rebase", "merge", "worktree", "clean", "config", "remote", "update-index",
     "credential")
)  # fmt: skip
# Nobody should do this because it was done once.
_FORCED = frozenset({"--force", "--force-with-lease", "-f", "--delete", "-d", "--mirror"})
# What puts a file in its place; what takes one away was about that one.
_PLACING = frozenset({"copy", "change"})
# What leaves files and folders otherwise than they were, and none of them away.
_CHANGING = frozenset({"copy", "change", "move", "create"})
# What changes what runs on a machine or a cluster, with whatever subcommand.
_RUNNING = frozenset(
    ("systemctl", "service", "supervisorctl", "launchctl", "docker", "docker-compose", "podman", "kubectl",
     "helm")
)  # fmt: skip
_VERSION = re.compile(r"v?\d{1,6}(?:\.\d{1,6}){1,3}(?:[-+.]?[a-z]{1,8}[.\d]{0,12})?")
_KEPT_KINDS = frozenset({CommandKind.WORK, CommandKind.MOVING})


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One thing that is done: the lines that did it, the latest last."""

    lines: tuple[Line, ...]

    @property
    def line(self) -> Line:
        """The line that stands for all of them."""
        return self.lines[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Condensed:
    """The units of a row of calls in order, how many commands were left out because they served the moment,
    and how many because they were run again or led nowhere."""

    units: tuple[Unit, ...]
    left_out: int = 0
    said_again: int = 0


def key_of(line: Line) -> Key:
    """What makes two lines the same step: the forms of what they do."""
    return tuple(map(form_of, filter(_is_done, line.commands))) or (line.text,)


def _is_done(command: StepCommand) -> bool:
    return not command.is_looking


def form_of(command: StepCommand) -> str:
    """The form of a command; what the console of a framework is told to do is part of it."""
    told = console_words(command)
    return f"{command.form} {' '.join(told)}" if told else command.form


def condense(lines: Sequence[Line]) -> Condensed:
    """The procedure in a row of lines."""
    if len(lines) <= SHORT_LINES:
        told = _drop_repeated(lines)
        kept = _lasting(told)
        kept = _without_said(kept if len(kept) > 1 else told)
        if max(Counter(map(key_of, kept)).values()) >= OFTEN:
            return Condensed(units=units_of(kept), left_out=len(told) - len(kept))
        return Condensed(units=tuple(Unit(lines=(line,)) for line in kept), left_out=len(told) - len(kept))
    split = [part for line in lines for part in parts_of(line)]
    is_release = any(purpose.verb == "release" for part in split for purpose in _purposes(part))
    meant = [
        part
        for part in split
        if (_is_meant(part) or (is_release and _names_version(part))) and not _is_of_the_moment(part)
    ]
    kept = _with_changes(split, meant) if len(units_of(meant)) > 1 else split
    return Condensed(units=units_of(kept), left_out=len(split) - len(kept))


def _drop_repeated(lines: Sequence[Line]) -> list[Line]:
    """Lines without those that were run before; what is checked again is checked where it was last."""
    told: list[Line] = []
    for line in lines:
        if _is_check(line):
            told = [each for each in told if each.text != line.text]
        if all(each.text != line.text for each in told) or _is_taken_back(told[-1], line):
            told.append(line)
    return told


def _is_taken_back(before: Line, line: Line) -> bool:
    """Whether the line before does the same kind of thing to the same things in another way, as what goes
    one migration back does: without the second time, that would be where it ends."""
    ours, theirs = ([(each.topic, each.verb) for each in one.commands] for one in (line, before))
    return ours == theirs and line.text != before.text and not _is_check(line)


def of_pattern(pattern: str, told: Sequence[Sequence[Line]]) -> Condensed | None:
    """What a pattern of several sessions names, in its order: each as it was written most often.

    None where one of its commands cannot be found in the lines.
    """
    split = [part for lines in told for line in lines for part in parts_of(line)]
    units: list[Unit] = []
    for act in map(act_of, pattern.split(BETWEEN_FORMS)):
        found = [part for part in split if any(act_of(form) == act for form in key_of(part))]
        if not found:
            return None
        found = [part for part in found if not part.is_script] or found
        keys = Counter(map(key_of, found))
        # The shortest of the most common: what else stood in the same pipeline is not of the pattern.
        often = min(keys, key=lambda key: (-keys[key], len(key), key))
        units.append(Unit(lines=tuple(part for part in found if key_of(part) == often)))
    distinct = tuple({key_of(unit.line): unit for unit in units}.values())
    lines = _lasting([unit.line for unit in distinct])
    lasting = tuple(unit for unit in distinct if unit.line in lines)
    kept = lasting if len(lasting) > 1 else distinct
    return Condensed(units=kept, left_out=len(distinct) - len(kept))


def units_of(lines: Sequence[Line]) -> tuple[Unit, ...]:
    """Lines that do the same as one unit, in the order in which each was done first."""
    by_key: dict[Key, list[Line]] = {}
    for line in lines:
        by_key.setdefault(key_of(line), []).append(line)
    return tuple(Unit(lines=tuple(found)) for found in by_key.values())


def _is_check(line: Line) -> bool:
    purposes = [purpose_of(command) for command in line.commands if not command.is_looking]
    return bool(purposes) and all(purpose is not None and purpose.checks for purpose in purposes)


def _lasting(lines: Sequence[Line]) -> list[Line]:
    """Lines without those of the moment. Where few of them handle files, that is a part of what is done: a
    setting that is put in its place before a service is started, a folder that the next line fills."""
    files = [line for line in lines if _handles_files(line, lines)]
    is_part = len(files) * FILES_SHARE <= len(lines)
    kept = [line for line in lines if not _is_of_the_moment(line) or (is_part and line in files)]
    return _with_changes(lines, kept)


def _with_changes(lines: Sequence[Line], kept: Sequence[Line]) -> list[Line]:
    """Kept lines, with those between two of them that change something: without them the others would do
    another thing. Where they are more than what is kept, files were handled, and that was all."""
    own = {id(line) for line in kept}
    places = [place for place, line in enumerate(lines) if id(line) in own]
    if not places:
        return list(kept)
    between = range(places[0], places[-1])
    changing = {place for place in between if id(lines[place]) not in own and _changes(lines[place])}
    if len(units_of([lines[place] for place in changing])) > len(units_of(kept)):
        return list(kept)
    return [line for place, line in enumerate(lines) if id(line) in own or place in changing]


def _changes(line: Line) -> bool:
    """Whether a line puts files or folders in their place, or changes what runs."""
    done = [command for command in line.commands if not command.is_looking]
    return bool(done) and not line.is_script and all(map(_is_changing, done))


def _is_changing(command: StepCommand) -> bool:
    if is_momentary(command):
        return False
    if command.kind is CommandKind.FILES:
        return command.verb in _CHANGING or any(value.startswith("/") for value in command.values)
    return command.kind in _KEPT_KINDS and command.topic in _RUNNING


def _handles_files(line: Line, lines: Sequence[Line]) -> bool:
    done = [command for command in line.commands if not command.is_looking]
    if line.is_script or not all(command.kind is CommandKind.FILES for command in done):
        return False
    used = {value for other in lines if other is not line for each in other.commands for value in each.values}
    return all(
        _is_placing(command) or (command.verb != "remove" and not used.isdisjoint(command.values))
        for command in done
    )


def _is_placing(command: StepCommand) -> bool:
    """Whether it puts a file in its place, or does something outside of the project."""
    if command.kind is not CommandKind.FILES or is_momentary(command):
        return False
    return command.verb in _PLACING or any(value.startswith("/") for value in command.values)


def _without_said(lines: Sequence[Line]) -> list[Line]:
    """Lines without those that only put together what was told before."""
    said: set[str] = set()
    done: set[tuple[object, ...]] = set()
    kept: list[Line] = []
    for line in lines:
        forms = key_of(line)
        # The same with other flags, on the same things, was a second try.
        what = tuple((act_of(command.form), command.values) for command in line.commands)
        is_news = what not in done or _is_taken_back(kept[-1], line)
        if (len(forms) == 1 or not said.issuperset(forms)) and is_news:
            kept.append(line)
        said.update(forms)
        done.add(what)
    return kept


def parts_of(line: Line) -> Iterator[Line]:
    """The pipelines of a line, each with the `cd` before it."""
    if line.whole:
        yield line
        return
    begin, moving_only = 0, True
    for index, command in enumerate(line.commands):
        is_moving = command.kind is CommandKind.MOVING
        is_last = index == len(line.commands) - 1
        moving_only = moving_only and is_moving
        if is_last or (line.joiners[index] not in PIPES and line.joiners[index] != "||" and not moving_only):
            yield Line(commands=line.commands[begin : index + 1], joiners=line.joiners[begin:index])
            begin, moving_only = index + 1, True


def _is_of_the_moment(line: Line) -> bool:
    if line.is_script:
        return True
    done = [command for command in line.commands if not command.is_looking]
    # What is put in its place or taken away before the work is a part of it: `rm -rf dist && npm run build`.
    working = [command for command in done if command.kind is not CommandKind.FILES]
    return any(map(_is_once, working or done))


def _is_meant(line: Line) -> bool:
    return any(True for _ in _purposes(line))


def _purposes(line: Line) -> Iterator[CommandPurpose]:
    return (purpose for command in line.commands if (purpose := purpose_of(command)))


def _names_version(line: Line) -> bool:
    """Whether a line is given a version: before a release that is where it is written down."""
    return any(_VERSION.fullmatch(value) for command in line.commands for value in command.values)


def _is_once(command: StepCommand) -> bool:
    if command.kind not in _KEPT_KINDS:
        return True
    words = command.form.split()
    if words[:1] == ["git"] and len(words) > 1 and words[1] in _OF_THE_MOMENT:
        return purpose_of(command) is None
    if words[:2] == ["git", "push"] and _FORCED.intersection(words):
        return True
    purpose = purpose_of(command)
    is_minor = purpose is None or purpose.weight == 1
    if is_minor and (is_trying(command) or (command.verb == "request" and purpose is None)):
        return True
    return is_minor and command.kind is CommandKind.WORK and is_momentary(command)
