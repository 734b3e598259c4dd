"""`error-recovery` (SKL-2): a shell call fails, and a corrected one succeeds.

Two calls belong together when a command of the one is the command of the other, corrected: the same program
does the same thing in other words, or most of the words are the same. A call that is merely the next to
succeed does not correct anything, and the same call succeeding later does so only where another call between
the two has fixed it: then that one is the fix. What changed has to be why it works: where words only went,
the error names one of them, and a plain word becomes another one only where the error names it, or where it
was a slip.

Tests, builds and linters mostly fail because of the code, and succeed once somebody has changed it. They
count where the failure is one of the command or of the machine (no such command, unknown flag, missing
module), where the code needs something that a call between has installed, or where the correction is to let
the tool change the code itself (`--fix`).

At most six calls that count lie between the two. Of several recoveries the one that the
session shows most often wins, then the most recent.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from posixpath import dirname
from typing import NamedTuple

from runlore.domain.detectors.command_acts import act_of
from runlore.domain.detectors.match import Heuristic, Match, Occurrence, make_occurrence
from runlore.domain.detectors.mined import CommandKind, MinedRun, Outcome, Step, StepCommand
from runlore.domain.detectors.recovery_texts import is_about_code, is_about_command, is_about_missing
from runlore.domain.detectors.toolchains import is_everyday
from runlore.domain.lazy import dataclass
from runlore.domain.taint_sources.kinds import words

STEPS_BETWEEN_MAX = 6
FIXES_MAX = 3
WORDS_MAX = 60
# Of so many of the words both commands are made, where they differ in more than their values.
ALIKE_MIN = 0.5
NEARLY_SAME_MIN = 0.75
# How much alike two words have to be that one is a slip of the other.
SLIP_MIN = 0.8
WORD_CHARS_MAX = 60
VARIANT_CHARS_MIN = 3

APPROVED, AGAIN = "approved", "again"
"""What puts a call right as it stands: to be run outside of the sandbox, or once more."""
CAUSE_WORDS_MAX = 8
_DOING = (CommandKind.WORK, CommandKind.FILES)
_VALUES = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\S*[/\\=@~]\S*|\S*\d\S*|\s-{1,2}\w\S*|https?:\S+")
_SAID = re.compile(r"\"[^\"]*\"|'[^']*'")
_PLAIN_WORDS = re.compile(r"[a-z][a-z-]+")
# What a sandbox does not let a program do.
_CONFINED = re.compile(
    r"operation not permitted|permission denied|read-only file system|no such host|could not resolve"
    r"|network is unreachable|error connecting|connection refused|failed to connect|could not fetch"
    r"|cannot lock ref|unable to create|no go files to analyze|proxy",
    re.IGNORECASE,
)
# Nobody knows what would have come of it.
_TIMED_OUT = re.compile(r"timed? ?out|deadline exceeded|still running", re.IGNORECASE)
# What is over by itself after a while.
_PASSING = re.compile(r"\block(?:ed)?\b|index\.lock|try again|temporarily|agent refused", re.IGNORECASE)
_ERROR_WORD = re.compile(r"[^\s'\"`,;()]+")
# What succeeds or fails with the code that it is given.
_CODE_VERBS = frozenset({"test", "build", "lint", "typecheck", "format", "benchmark", "run", "scan"})
# What puts something right that another command needs.
_FIXING_VERBS = words(
    """
    install update create configure run restart migrate generate build pull download change seed clone
    remove stop merge branch revert commit stage push copy deploy
    """
)
# What brings something that the code needs.
_BRINGING_VERBS = frozenset({"install", "update", "generate", "download", "clone"})
# They go on with what was begun, once a person has settled what stood in its way, or only try it.
_GOING_ON = frozenset({"--continue", "--abort", "--skip", "--quit", "--dry-run", "-n"})
_FIXING_FLAGS = frozenset({"--fix", "--write", "--update", "--in-place", "--unsafe-fixes", "-u", "-w", "-i"})


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """A call that failed, what was done about it, and the call that worked."""

    failed: Step
    fixes: tuple[Step, ...] = ()
    fixed: Step
    pattern: str

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of it, in order."""
        return (self.failed, *self.fixes, self.fixed)


class _Found(NamedTuple):
    """A recovery, and the place among the session's steps of what had failed."""

    back: int
    pattern: str
    occurrence: Occurrence


def error_recovery(session: Sequence[MinedRun]) -> Match | None:
    """The recovery that the last run shows, if there is one."""
    return Recoveries(session).match(0, len(session))


class Recoveries:
    """The recoveries of a session. Each run is looked at once, however many rows of runs are asked for."""

    def __init__(self, runs: Sequence[MinedRun]) -> None:
        self._runs = runs
        self._steps = [step for run in runs for step in run.steps if acting_commands(step)]
        # The place of each run's first step.
        self._firsts = [0]
        for run in runs:
            self._firsts.append(self._firsts[-1] + sum(bool(acting_commands(step)) for step in run.steps))
        self._found: dict[int, list[_Found]] = {}

    def match(self, start: int, end: int) -> Match | None:
        """The recovery that the last of the runs from `start` to before `end` shows, by these alone."""
        ended = self._within(end - 1, start) if start < end else []
        if not ended:
            return None
        found = [each for place in range(start, end) for each in self._within(place, start)]
        times = Counter(each.pattern for each in found)
        best = max(ended, key=lambda each: (times[each.pattern], each.occurrence.steps[-1].number)).pattern
        occurrences = tuple(each.occurrence for each in found if each.pattern == best)
        return Match(heuristic=Heuristic.ERROR_RECOVERY, pattern=best, occurrences=occurrences)

    def matches(self) -> tuple[Match, ...]:
        """All recoveries that the session shows."""
        found: dict[str, list[Occurrence]] = {}
        for each in (each for place in range(len(self._runs)) for each in self._within(place, 0)):
            found.setdefault(each.pattern, []).append(each.occurrence)
        return tuple(
            Match(heuristic=Heuristic.ERROR_RECOVERY, pattern=pattern, occurrences=tuple(occurrences))
            for pattern, occurrences in found.items()
        )

    def _within(self, place: int, start: int) -> list[_Found]:
        """The recoveries of one run whose failure is no earlier than another run."""
        if place not in self._found:
            self._found[place] = list(self._recoveries(place))
        return [each for each in self._found[place] if each.back >= self._firsts[start]]

    def _recoveries(self, place: int) -> Iterator[_Found]:
        """Every recovery of one run, each success used once: for the nearest failure that it corrects."""
        run, steps = self._runs[place], self._steps
        for at in range(self._firsts[place], self._firsts[place + 1]):
            if steps[at].outcome is not Outcome.SUCCEEDED:
                continue
            for back in range(at - 1, max(-1, at - 2 - STEPS_BETWEEN_MAX), -1):
                if steps[back].outcome is not Outcome.FAILED:
                    continue
                if found := recovery_of(steps[back], steps[back + 1 : at], steps[at]):
                    yield _Found(back, found.pattern, make_occurrence(run, found.steps))
                    break


def changed_words(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """What changed from one command to the other, word by word: what went, and what came in its place."""
    one, other = before.split()[:WORDS_MAX], after.split()[:WORDS_MAX]
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return tuple((" ".join(one[a:b]), " ".join(other[c:d])) for tag, a, b, c, d in codes if tag != "equal")


def recovery_of(failed: Step, between: Sequence[Step], fixed: Step) -> Recovery | None:
    """How a call that failed was put right by another; None where that one has nothing to do with it."""
    if not acting_commands(failed) or not acting_commands(fixed):
        return None
    confined = _CONFINED.search(failed.error)
    if confined and fixed.is_approved and not failed.is_approved and _acts(failed) & _acts(fixed):
        # Whatever it was given: what the sandbox does not let a program do is the same.
        act = " ".join(act_of(acting_commands(failed)[-1].form).split()[:2])
        pattern = f"{act} # {confined[0].lower()} -> {APPROVED}"
        return Recovery(failed=failed, fixed=fixed, pattern=pattern)
    is_denied = confined and confined[0].lower() == "operation not permitted" and "=" not in fixed.text
    if is_denied or _TIMED_OUT.search(failed.error):
        return None
    return (
        _recover_unchanged(failed, between, fixed)
        if _same(failed, fixed)
        else _recover_changed(failed, fixed)
    )


def _recover_unchanged(failed: Step, between: Sequence[Step], fixed: Step) -> Recovery | None:
    """How a call came to succeed as it was: by what was done before it, or by itself."""
    cause, fixes = cause_of(failed.error), _fixes(failed, between)
    if fixes:
        told = " ; ".join(each.form for each in fixes)
        pattern = f"{failed.form} -> {told} # {cause}"
        return Recovery(failed=failed, fixes=fixes, fixed=fixed, pattern=pattern)
    is_again = not any(map(_does, between)) and _PASSING.search(failed.error) is not None
    return Recovery(failed=failed, fixed=fixed, pattern=f"{cause} -> {AGAIN}") if is_again else None


def _recover_changed(failed: Step, fixed: Step) -> Recovery | None:
    for wrong, right in _pairs(failed, fixed):
        if _is_corrected(failed, wrong, right):
            pattern = f"{wrong.form} -> {right.form} # {cause_of(failed.error)}"
            return Recovery(failed=failed, fixed=fixed, pattern=pattern)
    return None


def cause_of(error: str) -> str:
    """What an error says, whatever it says it of: its plain words without what is quoted or counted."""
    plain = _VALUES.sub(" ", error.lower())
    return " ".join(_PLAIN_WORDS.findall(plain)[:CAUSE_WORDS_MAX])


def _acts(step: Step) -> frozenset[str]:
    return frozenset(act_of(command.form) for command in acting_commands(step))


def _does(step: Step) -> bool:
    return any(command.kind in _DOING for command in step.commands)


def _words(text: str) -> list[str]:
    """The words of a command; what is said in it, such as a message, is none."""
    told = _SAID.sub(lambda said: "…" if " " in said[0] or "\n" in said[0] else said[0], text)
    return told.split()[:WORDS_MAX]


def _pairs(failed: Step, fixed: Step) -> Iterator[tuple[StepCommand, StepCommand]]:
    """The command that may have failed, with those that may be its correction. Of several commands in one
    call it is known only where all but one are as they were."""
    texts = {command.text for command in acting_commands(fixed)}
    wrong = [command for command in acting_commands(failed) if command.text not in texts]
    known = {command.text for command in acting_commands(failed)}
    right = [command for command in acting_commands(fixed) if command.text not in known]
    if len(wrong) == 1:
        yield from ((wrong[0], each) for each in right)
        return
    # The program says itself that it was it, and one command of it was done again.
    spoke = [each for each in wrong if speaks(each, failed.error)]
    pairs = [(one, each) for one in spoke for each in right if act_of(one.form) == act_of(each.form)]
    if len(pairs) == 1:
        yield pairs[0]


def speaks(command: StepCommand, error: str) -> bool:
    """Whether an error is the command's own: it begins with its program, or as git begins."""
    program = command.form.partition(" ")[0]
    return error.startswith((f"{program}: ", f"{program} ")) or (
        program == "git" and error.startswith(("fatal: ", "error: "))
    )


def _fixes(failed: Step, between: Sequence[Step]) -> tuple[Step, ...]:
    """What put a call right that then succeeded as it was."""
    if not between or len(between) > FIXES_MAX:
        return ()
    if is_about_code(failed.error) and not is_about_missing(failed.error):
        return ()
    done = tuple(step for step in between if step.outcome is Outcome.SUCCEEDED)
    fixing = _BRINGING_VERBS if is_about_code(failed.error) else _FIXING_VERBS
    is_fixing = any(
        command.verb in fixing
        or (speaks(acting_commands(failed)[-1], failed.error) and not is_everyday(command))
        for step in done
        for command in step.commands
        if command.kind in _DOING
    )
    told = any(
        command.form == other.form
        for step in done
        for command in acting_commands(step)
        for other in acting_commands(failed)
    )
    return done if is_fixing and not told and len(done) == len(between) else ()


def _is_corrected(failed: Step, wrong: StepCommand, right: StepCommand) -> bool:
    new_flags = {*right.form.split()} - {*wrong.form.split()}
    is_same_form = wrong.form == right.form
    if new_flags & _GOING_ON or (right.kind is CommandKind.FILES) != (wrong.kind is CommandKind.FILES):
        return False
    is_told = is_about_command(failed.error)
    may_be_code = wrong.verb in _CODE_VERBS and not is_told and not new_flags & _FIXING_FLAGS
    if may_be_code and is_about_code(failed.error):
        return False
    if not _is_why(wrong, right, failed.error):
        return False
    if not is_same_form and _does_same(wrong, right):
        return True
    if is_same_form and not is_about_code(failed.error) and _is_told_more(wrong.text, right.text):
        return True
    only_slips = is_same_form and not is_told
    return _is_alike(wrong.text, right.text, only_slips=only_slips, error=failed.error)


def _is_why(wrong: StepCommand, right: StepCommand, error: str) -> bool:
    """Whether what was taken away can be why it works now. Where words only went, the error has to name one
    of them; and a plain word may not become quite another one that the error knows nothing of."""
    words, others = _words(wrong.text), _words(right.text)
    codes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    changed = [(tag, words[a:b], others[c:d]) for tag, a, b, c, d in codes if tag != "equal"]
    if all(tag == "delete" for tag, _, _ in changed):
        return any(_is_named(word, error) for _, gone, _ in changed for word in gone)
    return all(
        _is_slip(gone, come) or all(_is_named(word, error) for word in _plain(wrong, gone))
        for tag, gone, come in changed
        if tag == "replace"
    )


def _plain(wrong: StepCommand, gone: Sequence[str]) -> list[str]:
    """The words that were replaced and are neither flags nor their values. A flag that the normal form keeps
    takes no value."""
    kept = {"--", *wrong.form.split()}
    words = _words(wrong.text)
    behind = {after for before, after in pairwise(words) if before.startswith("-") and before not in kept}
    return [word for word in gone if not word.startswith("-") and word not in behind and "=" not in word]


def _is_named(word: str, error: str) -> bool:
    """Whether an error names a word, or of a setting its name."""
    told = word.partition("=")[0].strip("'\"").casefold()
    return len(told) > 1 and told in error.casefold()


def _is_told_more(one: str, other: str) -> bool:
    """Whether a command is the other one with flags that were missing, and nothing taken away."""
    words, others = _words(one), _words(other)
    codes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    come = [others[c:d] for tag, _, _, c, d in codes if tag == "insert"]
    is_only_more = all(tag in ("equal", "insert") for tag, *_ in codes)
    return is_only_more and bool(come) and all(each[0].startswith("-") for each in come)


def _does_same(wrong: StepCommand, right: StepCommand) -> bool:
    if wrong.topic != right.topic or wrong.verb != right.verb or not wrong.verb:
        return False
    # One word for many: `git reset` and `git stash` both take something back, and are not the same.
    return wrong.topic != "git" or wrong.form.split()[:2] == right.form.split()[:2]


def _is_alike(one: str, other: str, *, only_slips: bool, error: str) -> bool:
    """Whether two commands are the same but for a few words, for slips, or for what the error names."""
    words, others = _words(one), _words(other)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < ALIKE_MIN:
        return False
    replaced = [codes for codes in matcher.get_opcodes() if codes[0] == "replace"]
    told = {word.strip(":") for word in _ERROR_WORD.findall(error)}
    if not only_slips and matcher.ratio() >= NEARLY_SAME_MIN:
        return True
    return bool(replaced or not only_slips) and all(
        _is_slip(words[a:b], others[c:d]) or all(word in told for word in words[a:b])
        for _, a, b, c, d in replaced
    )


def _is_slip(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether words differ in a few letters, or in the folder that a file is looked for in."""
    return len(old) == len(new) and all(
        _name(one) == _name(other)
        or (one.count("/") > 1 and dirname(one) == dirname(other))
        or _is_variant(_name(one), _name(other))
        or SequenceMatcher(None, _name(one), _name(other), autojunk=False).ratio() >= SLIP_MIN
        for one, other in zip(old, new, strict=True)
    )


def _is_variant(one: str, other: str) -> bool:
    """Whether one word is the beginning of the other: `build` and `build:prod`."""
    short, long = sorted((one, other), key=len)
    return len(short) >= VARIANT_CHARS_MIN and long.startswith(short) and not long[len(short)].isalnum()


def _name(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2][:WORD_CHARS_MAX]


def _same(one: Step, other: Step) -> bool:
    texts = [command.text for command in acting_commands(one)]
    return texts == [command.text for command in acting_commands(other)]


def acting_commands(step: Step) -> list[StepCommand]:
    """The commands of a call that do something of their own, or ask for it in words that are known."""
    return [
        each
        for each in step.commands
        if each.kind in _DOING or (each.kind is CommandKind.LOOKING and each.text not in (each.form, "ls"))
    ]
