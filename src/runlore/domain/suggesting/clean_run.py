"""A procedure as its last clean pass: each check once where it was last run, nothing that goes nowhere.

| what was done | what is told |
| --- | --- |
| a check, a fix, the same check again | the check, at its last place |
| the same check with other values | one step with a parameter |
| a test by its name behind all tests | all tests |
| tests that write anew what they expect | not told |
| formatting behind the last check | not told: nothing shows that it was right |
| a look at a pipeline without a push before or behind it | not told |
| a fetch that nothing is made of | not told |
| checks of a script, and tests of something else | what there is more of |
"""

from collections.abc import Callable, Sequence

from runlore.domain.detectors.cross_session_rows import PRINTING, act_of
from runlore.domain.detectors.mined import StepCommand
from runlore.domain.suggesting.condensing import Unit, key_of, parts_of
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.one_off_values import is_focused
from runlore.domain.suggesting.purposes import purpose_of
from runlore.domain.suggesting.words import words_of

CHECKS = frozenset({"test", "lint", "typecheck", "build", "scan"})
_ONCE = CHECKS | {"format"}
_WRITING_ANEW = frozenset(
    {"-update", "--update", "--snapshot-update", "--updateSnapshot", "--update-snapshots"}
)
_LOOKING_FLAGS = frozenset(
    ("--check", "-check", "--diff", "--dry-run", "--list-different", "--verify", "-l", "--verify-no-changes")
)
_PIPELINES = ("gh run view", "gh run list", "gh run watch", "gh pr checks", "gh pr view", "gh pr status")
_WHOLE = frozenset({"./...", ".", "..."})
_SCRIPTS = ("shellcheck", "bash -n", "sh -n", "zsh -n", "shfmt", "bats")
_INTEGRATING = ("git merge", "git rebase", "git pull", "git checkout", "git switch", "git worktree")


def clean_pass(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """The units of a row in order, as somebody would do it who knows what comes of it. A row that is clean
    is left as it is; so is one of which too little would be left."""
    told = list(units)
    for step in (
        _without_writing_anew,
        _apart,
        _once,
        _without_focused_behind,
        _without_loose_ends,
        _without_late_formatting,
        _of_one_kind,
    ):
        cleaned = step(told)
        told = cleaned if len(cleaned) > 1 else told
    return tuple(told)


def verbs_of(line: Line) -> frozenset[str]:
    """The verbs of the purposes of a line."""
    return frozenset(purpose.verb for command in line.commands if (purpose := purpose_of(command)))


def is_focused_test(line: Line) -> bool:
    """Whether a line runs tests by their names."""
    done = [command for command in line.commands if not command.is_looking]
    return verbs_of(line) == {"test"} and all(map(is_focused, done))


def is_lister(command: StepCommand) -> bool:
    """Whether it prints the files that are not as they should be, and answers with 0 all the same."""
    words = {word.text for word in words_of(command.text)}
    return "gofmt" in command.form.split() and "-l" in words and not words & {"-w", "-d"}


def only_looks(line: Line) -> bool:
    """Whether a line says what is not formatted as it should be, and changes nothing."""
    words = {word.text for command in line.commands for word in words_of(command.text)}
    return not words.isdisjoint(_LOOKING_FLAGS)


def is_pipeline(line: Line) -> bool:
    """Whether a line only looks at what a pipeline came to."""
    done = [command for command in line.commands if not command.is_looking]
    return bool(done) and all(command.form.startswith(_PIPELINES) for command in done)


def _without_writing_anew(units: list[Unit]) -> list[Unit]:
    def is_kept(line: Line) -> bool:
        words = {word.text for command in line.commands for word in words_of(command.text)}
        return "test" not in verbs_of(line) or words.isdisjoint(_WRITING_ANEW)

    return _those(units, is_kept)


def _those(units: Sequence[Unit], is_kept: Callable[[Line], bool]) -> list[Unit]:
    return [unit for unit in units if is_kept(unit.line)]


def _apart(units: list[Unit]) -> list[Unit]:
    """Lines of several commands taken apart where one of these stands elsewhere too."""
    keys = [key for unit in units for key in {forms_without_printing(part) for part in parts_of(unit.line)}]
    told: list[Unit] = []
    for unit in units:
        parts = list(parts_of(unit.line))
        if len(parts) > 1 and any(
            _is_once(part) and keys.count(forms_without_printing(part)) > 1 for part in parts
        ):
            told += [Unit(lines=(part,)) for part in parts]
        else:
            told.append(unit)
    return told


def _once(units: list[Unit]) -> list[Unit]:
    """Each check once, at its last place, with the values of all times."""
    by_key: dict[object, list[Unit]] = {}
    for place, unit in enumerate(units):
        key: object = (
            (forms_without_printing(unit.line), is_focused_test(unit.line)) if _is_once(unit.line) else place
        )
        # What is done again is where it was done last.
        found = by_key.pop(key, [])
        by_key[key] = [*found, unit]
    return [
        Unit(lines=_widest(tuple(line for unit in found for line in unit.lines))) for found in by_key.values()
    ]


def _widest(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Of a check that was run on a part and on all of it, what ran on all."""
    whole = tuple(line for line in lines if any(_WHOLE & set(each.values) for each in line.commands))
    return whole or lines


def forms_without_printing(line: Line) -> tuple[str, ...]:
    """The forms of a line without what only says how much is printed."""
    return tuple(" ".join(word for word in form.split() if word not in PRINTING) for form in key_of(line))


def _is_once(line: Line) -> bool:
    verbs = verbs_of(line)
    return bool(verbs) and verbs <= _ONCE and not line.whole


def _without_focused_behind(units: list[Unit]) -> list[Unit]:
    told: list[Unit] = []
    has_whole = False
    for unit in units:
        if is_focused_test(unit.line) and has_whole:
            continue
        has_whole = has_whole or ("test" in verbs_of(unit.line) and not is_focused_test(unit.line))
        told.append(unit)
    return told


def _without_loose_ends(units: list[Unit]) -> list[Unit]:
    """Without what is fetched and not used, and without looks at a pipeline that nothing was sent to."""
    acts = [{act_of(command.form) for command in unit.line.commands} for unit in units]
    sends = any("git push" in act for found in acts for act in found)
    told = []
    for place, unit in enumerate(units):
        later = [act for found in acts[place + 1 :] for act in found]
        is_fetch = acts[place] == {"git fetch"}
        if is_fetch and not any(act.startswith(_INTEGRATING) for act in later):
            continue
        if is_pipeline(unit.line) and not sends:
            continue
        told.append(unit)
    return told


def _without_late_formatting(units: list[Unit]) -> list[Unit]:
    checks = [place for place, unit in enumerate(units) if verbs_of(unit.line) & CHECKS]
    if not checks:
        return units
    return [
        unit
        for place, unit in enumerate(units)
        if place < checks[-1]
        or not (verbs := verbs_of(unit.line))
        or not verbs <= {"format", "update"}
        or only_looks(unit.line)
    ]


def _of_one_kind(units: list[Unit]) -> list[Unit]:
    """Checks of scripts alone, or all but them: the one says nothing about the other."""
    scripts = [unit for unit in units if _checks_script(unit.line)]
    others = [unit for unit in units if not _checks_script(unit.line)]
    checked = [unit for unit in others if verbs_of(unit.line) & CHECKS]
    if not scripts or not checked or any(verbs_of(unit.line) - CHECKS for unit in others):
        return units
    return scripts if len(scripts) > len(checked) else others


def _checks_script(line: Line) -> bool:
    done = [command for command in line.commands if not command.is_looking]
    return bool(done) and all(any(name in command.form for name in _SCRIPTS) for command in done)
