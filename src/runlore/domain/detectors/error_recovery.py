"""`error-recovery` (SKL-2): a shell call fails, and soon after the same thing succeeds.

A failure is known by the program that failed and by what the error says, values left out, so that it is the
same in every session that meets it. What put it right is the first call behind it that succeeded and did the
same: the same act with flags that were missing, without a word that the error names or with a slip mended;
all its words behind another program; or another call of the same program about the same thing. The same call
may succeed as it was: outside of the sandbox, after an edit or another call, or once more where the error
says that it passes.

What a test finds, and a path that leads nowhere, is of the moment. An error of a compiler or a linter is the
code's, but where the call succeeded with more words and nothing was edited between the two; of a linter's
rule the edit that put it right is told. At most six calls that count lie between the two. Of several
recoveries the one that the session shows most often wins, then the most recent. What a sandbox keeps a
program from is one failure, whatever it was doing; a call that differs in a number alone puts nothing right.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

from runlore.domain.detectors.command_acts import act_of
from runlore.domain.detectors.command_kinds import NEVER_COUNTING
from runlore.domain.detectors.episodes import answers
from runlore.domain.detectors.match import Heuristic, Match, Occurrence, make_occurrence
from runlore.domain.detectors.mined import CommandKind, MinedRun, Outcome, Step, StepCommand
from runlore.domain.detectors.recovery_texts import (
    is_about_code,
    is_about_command,
    is_about_test,
    says_elsewhere,
)
from runlore.domain.detectors.tool_calls import EDIT

SANDBOX = "sandbox"
STEPS_BETWEEN_MAX, OTHER_WITHIN, FIXES_MAX = 6, 3, 3
WORDS_MAX, WORD_CHARS_MAX, NAME_CHARS_MIN = 60, 60, 4
# How much alike two words have to be that one is a slip of the other.
SLIP_MIN = 0.8
CAUSE_WORDS_MAX = 8
_DOING = (CommandKind.WORK, CommandKind.FILES)
_VALUES = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\S*[/\\=@~]\S*|\S*\d\S*|\s-{1,2}\w\S*|https?:\S+")
_SAID = re.compile(r"\"[^\"]*\"|'[^']*'")
_FRAME = re.compile(r"[a-z~./][\w~./-]{2,80}", re.IGNORECASE)
_NAME, _PLAIN_WORDS = re.compile(r"[\w-]{2,60}"), re.compile(r"[a-z][a-z-]+")
_FLAGS = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
# Nothing to do is no failure, and of what was cut off nobody knows how it would have ended.
_NO_FAILURE = re.compile(
    r"nothing to commit|no changes added|timed? out\b|timeout (?:of|after|exceeded)|deadline exceeded"
    r"|still running|usage:",
    re.IGNORECASE,
)
# A path that leads nowhere is another one the next time.
_NO_PATH = re.compile(
    r"no such file|does not exist|cannot access|is a directory|not a directory|pathspec", re.IGNORECASE
)
# The shell could not run the line at all, or the program could not read it.
_GLOB = re.compile(r"no matches found: (.{1,200})")
_UNREAD = re.compile(
    r"no matches found|command not found|not recognized as|(?:invalid|illegal|unknown|unrecognized) option",
    re.IGNORECASE,
)
# What a sandbox does not let a program do.
_CONFINED = re.compile(
    r"operation not permitted|permission denied|read-only file system|no such host|could not resolve"
    r"|network is unreachable|error connecting|connection refused|failed to connect|could not fetch"
    r"|cannot lock ref|unable to create|no go files to analyze|proxy",
    re.IGNORECASE,
)
# Something has to be said that was not, and whatever comes in says it.
_LACKING = re.compile(
    r"\b(?:specify|missing|requires?|which (?:one|project|file)|ambiguous)\b", re.IGNORECASE
)
_COUNTED = re.compile(r"[-_.]?\d+")
# What is over by itself after a while.
_PASSING = re.compile(r"\block(?:ed)?\b|index\.lock|try again|temporarily|agent refused", re.IGNORECASE)
# They go on with what was begun, once a person has settled what stood in its way, or only try and ask.
_GOING_ON = frozenset({"--continue", "--abort", "--skip", "--quit", "--dry-run", "--help"})
# So do these, where no value is behind them: `-h` may be a host, `-n` a namespace.
_GOING_ON_SHORT = ({"-n"}, {"-h"})
# How linters and compilers name the rule that was broken: `(errcheck)`, `[arg-type]`, `TS2345`, `E501`.
_RULE = re.compile(r"\((?P<a>[a-z][\w-]{3,40})\)$|\[(?P<b>[a-z][a-z-]{3,40})\]$|\b(?P<c>[A-Z]{1,5}\d{3,5})\b")
# What a linter calls code that does not compile.
_NO_RULES = frozenset({"typecheck", "syntax", "compile"})
_PLACE = re.compile(r"^(?:\[[\w:.-]{1,40}\] )?\S{1,200}\.\w{1,6}:\d+:")


class Remedy(StrEnum):
    """How a call came to succeed that had failed."""

    CHANGED = "changed"
    APPROVED = "approved"
    PREPARED = "prepared"
    EDITED = "edited"
    AGAIN = "again"


def error_recovery(session: Sequence[MinedRun]) -> Match | None:
    """The recovery that the last run shows, if there is one."""
    found = list(_recoveries(session))
    ended = [each for each in found if each[1].run_id == session[-1].run_id]
    if not ended:
        return None
    times = Counter(pattern for pattern, _ in found)
    best, _ = max(ended, key=lambda each: (times[each[0]], each[1].steps[-1].number))
    return Match(
        heuristic=Heuristic.ERROR_RECOVERY,
        pattern=best,
        occurrences=tuple(each for pattern, each in found if pattern == best),
    )


def all_recoveries(session: Sequence[MinedRun]) -> tuple[Match, ...]:
    """Every recovery that a session shows."""
    found: dict[str, list[Occurrence]] = {}
    for pattern, occurrence in _recoveries(session):
        found.setdefault(pattern, []).append(occurrence)
    return tuple(
        Match(heuristic=Heuristic.ERROR_RECOVERY, pattern=pattern, occurrences=tuple(occurrences))
        for pattern, occurrences in found.items()
    )


def remedy_of(steps: Sequence[Step]) -> Remedy:
    """How the last of these steps came to succeed where the first had failed."""
    failed, between, fixed = steps[0], steps[1:-1], steps[-1]
    if fixed.is_approved and not failed.is_approved:
        return Remedy.APPROVED
    if any(step.tool == EDIT for step in between):
        return Remedy.EDITED
    if between:
        return Remedy.PREPARED
    is_same = _texts(failed) == _texts(fixed) and _frame(failed) == _frame(fixed)
    return Remedy.AGAIN if is_same else Remedy.CHANGED


def _recoveries(session: Sequence[MinedRun]) -> Iterator[tuple[str, Occurrence]]:
    made = ((run, step) for run in session for step in run.steps)
    steps = [(run, step) for run, step in made if _edits(step) or acting_commands(step)]
    used: set[tuple[int, str]] = set()
    # A success is used once: for the nearest failure that it puts right.
    found: list[tuple[str, Occurrence]] = []
    for at in range(len(steps) - 1, -1, -1):
        failure = failure_of(steps[at][1])
        if failure is None:
            continue
        place, fix = _put_right(steps[at][1], [step for _, step in islice(steps, at + 1, at + 25)])
        # Rules of a linter are put right one after the other, until it finds none.
        use = (at + 1 + place, rule_of(error_of(steps[at][1])))
        if fix and use not in used:
            used.add(use)
            # What a sandbox keeps a program from is one thing, whatever it was doing.
            cause = SANDBOX if remedy_of(fix) is Remedy.APPROVED else failure.cause
            found.append((f"{failure.program} # {cause}", make_occurrence(steps[at + 1 + place][0], fix)))
    yield from reversed(found)


class Failure(NamedTuple):
    """What a failed call is known by among others: the program that failed, and why."""

    program: str
    cause: str


def failure_of(step: Step) -> Failure | None:
    """What a call failed with; None where that says nothing to anybody else."""
    commands = _meant_commands(step)
    if step.outcome is not Outcome.FAILED or not commands or any(map(answers, step.commands)):
        return None
    error = error_of(step)
    rule = rule_of(error)
    if _GLOB.search(error):
        return Failure("zsh", "no matches found")
    if not rule and (is_about_test(error) or _NO_FAILURE.search(error)):
        return None
    cause = rule or " ".join([cause_of(error), *_FLAGS.findall(error)[:2]]).strip()
    return Failure(pin_command(commands, error).form.partition(" ")[0], cause) if cause else None


def error_of(step: Step) -> str:
    """The line that tells why a call failed: where the first only says that something in it did, one that is
    about the command."""
    if not says_elsewhere(step.error):
        return step.error
    return next(filter(is_about_command, step.more.splitlines()), step.error)


def rule_of(error: str) -> str:
    """The rule of a linter that was broken; empty where an error names none."""
    found = _RULE.search(error) if is_about_code(error) or _PLACE.match(error) else None
    rule = "" if found is None else next(filter(None, found.groups()))
    return "" if rule in _NO_RULES else rule


def is_unread(error: str) -> bool:
    """Whether a line could not be run at all, or not be read by its program."""
    return _UNREAD.search(error) is not None


def leads_nowhere(error: str) -> bool:
    """Whether an error says that a path is not there: of the moment, where only the path was changed."""
    return _NO_PATH.search(error) is not None


def cause_of(error: str) -> str:
    """What an error says, whatever it says it of: its plain words without what is quoted or counted."""
    return " ".join(_PLAIN_WORDS.findall(_VALUES.sub(" ", error.lower()))[:CAUSE_WORDS_MAX])


def changed_words(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """What changed from one command to the other, word by word: what went, and what came in its place."""
    return tuple((" ".join(gone), " ".join(come)) for gone, come in _changes(before.split(), after.split()))


def speaks(command: StepCommand, error: str) -> bool:
    """Whether an error is the command's own: it begins with its program, or as git begins."""
    program = command.form.partition(" ")[0]
    return error.startswith((f"{program}: ", f"{program} ")) or (
        program == "git" and error.startswith(("fatal: ", "error: "))
    )


def acting_commands(step: Step) -> list[StepCommand]:
    """The commands of a call that do something of their own, or ask for it in words that are known."""
    return [
        each
        for each in step.commands
        if each.kind in _DOING
        or (
            each.kind is CommandKind.LOOKING
            and (each.text != each.form or each.form.partition(" ")[0] not in NEVER_COUNTING)
        )
    ]


def _meant_commands(step: Step) -> list[StepCommand]:
    """The commands of a call that may be why it failed. What looks at files fails for any reason, but where
    the shell could not read the line itself."""
    commands = acting_commands(step)
    if is_unread(step.error):
        return commands
    return [
        each
        for each in commands
        if each.kind is not CommandKind.LOOKING or each.form.partition(" ")[0] not in NEVER_COUNTING
    ]


def pin_command(commands: Sequence[StepCommand], error: str) -> StepCommand:
    """The command that an error is of: the one that speaks, the one that it names, or the last."""
    spoken = (each for each in commands if speaks(each, error))
    named = (each for each in commands if _is_named(each.text.split()[0], error))
    return next(spoken, None) or next(named, None) or commands[-1]


def _put_right(failed: Step, later: Sequence[Step]) -> tuple[int, tuple[Step, ...]]:
    """What put a failure right, with the place of what then succeeded."""
    between: list[Step] = []
    edits: list[Step] = []
    other: tuple[int, tuple[Step, ...]] = (0, ())
    for place, step in enumerate(later):
        edits += [step] if _edits(step) else []
        if step.outcome is Outcome.SUCCEEDED and step.commands:
            fix = (
                _quote(failed, step) if _GLOB.search(failed.error) else _connect(failed, between, edits, step)
            )
            if fix:
                return place, fix
            if (
                not other[1]
                and len(between) < OTHER_WITHIN
                and _takes_place(failed, step, is_edited=bool(edits))
            ):
                other = place, (failed, step)
        between += [step] if _does(step) else []
        if len(between) > STEPS_BETWEEN_MAX:
            break
    return other


def _connect(failed: Step, between: Sequence[Step], edits: Sequence[Step], fixed: Step) -> tuple[Step, ...]:
    """The steps from a failure to a success; none where that one has nothing to do with it."""
    error = error_of(failed)
    is_same = _texts(failed) <= _texts(fixed) or (bool(rule_of(error)) and _is_checked_again(failed, fixed))
    pairs = ((wrong, right) for wrong, right in _pairs(failed, fixed) if _does_same(wrong, right, error))
    pair = None if is_same else next(pairs, None)
    if not is_same and pair is None:
        return ()
    if fixed.is_approved and not failed.is_approved and _CONFINED.search(error):
        return failed, fixed
    if pair is None:
        return _connect_same(failed, between, edits, fixed)
    wrong, right = pair
    is_right = not is_about_code(error) or (not edits and _is_only_more(wrong, right))
    return (_only(failed, wrong), _only(fixed, right)) if is_right else ()


def _quote(failed: Step, fixed: Step) -> tuple[Step, ...]:
    """A glob that the shell found nothing for, and the same in quotes."""
    glob = _GLOB.search(failed.error)
    assert glob is not None
    pattern = glob[1].strip()
    bare = pattern.removeprefix("--").partition("=")[2] or pattern
    quoted = re.compile(rf"['\"][^'\"]*{re.escape(bare)}")
    wrong = next((each for each in failed.commands if pattern in each.text), None)
    right = next((each for each in fixed.commands if quoted.search(each.text)), None)
    return (_only(failed, wrong), _only(fixed, right)) if wrong and right else ()


def _connect_same(
    failed: Step, between: Sequence[Step], edits: Sequence[Step], fixed: Step
) -> tuple[Step, ...]:
    """How a call came to succeed as it was: by an edit, by what was done before it, or by itself."""
    error = error_of(failed)
    if rule_of(error):
        return (failed, *_show_edit(edits), fixed) if edits else ()
    if not edits and is_about_command(error) and _frame(failed) != _frame(fixed):
        return failed, fixed
    if _PASSING.search(error):
        return failed, fixed
    done = [each for each in between if _is_done(each, failed)][-FIXES_MAX:]
    return (failed, *done, fixed) if done and not edits and not is_about_code(error) else ()


def _is_checked_again(failed: Step, fixed: Step) -> bool:
    """Whether what found fault ran again, without what had only stood before it in its line."""
    found_fault = pin_command(_meant_commands(failed), error_of(failed))
    return " ".join(_words(found_fault.text)) in _texts(fixed)


def _frame(step: Step) -> frozenset[str]:
    """What stands around the commands of a call: the folder that it goes to, and what only runs another."""
    inside = {word for command in acting_commands(step) for word in command.text.split()}
    return frozenset(word for word in step.text.split() if word not in inside and _FRAME.fullmatch(word))


def _show_edit(edits: Sequence[Step]) -> list[Step]:
    """The edit that shows what was changed, where one does."""
    return [each for each in edits if each.tool == EDIT and "\n" in each.text][:1] or list(edits[:1])


def _is_done(step: Step, failed: Step) -> bool:
    """Whether a call between may be what put it right: it did something else, and succeeded."""
    acts = {act_of(each.form) for each in acting_commands(failed)}
    words = {part for each in acting_commands(failed) for part in _NAME.findall(each.text)}
    done = [
        each
        for each in step.commands
        if each.kind is CommandKind.WORK
        or (each.kind is CommandKind.FILES and words & {*_NAME.findall(" ".join(each.values))})
    ]
    return step.outcome is Outcome.SUCCEEDED and any(act_of(each.form) not in acts for each in done)


def _edits(step: Step) -> bool:
    return step.tool == EDIT or any(each.kind is CommandKind.EDITING for each in step.commands)


def _does(step: Step) -> bool:
    return any(command.kind in _DOING for command in step.commands)


def _pairs(failed: Step, fixed: Step) -> Iterator[tuple[StepCommand, StepCommand]]:
    """The command that failed, with those that may be its correction."""
    wrong = [each for each in acting_commands(failed) if " ".join(_words(each.text)) not in _texts(fixed)]
    right = [each for each in acting_commands(fixed) if " ".join(_words(each.text)) not in _texts(failed)]
    error = error_of(failed)
    failing = (
        wrong
        if len(wrong) == 1
        else [each for each in wrong if speaks(each, error) or _is_named(each.text.split()[0], error)]
    )
    yield from ((one, each) for one in failing for each in right)


def _does_same(wrong: StepCommand, right: StepCommand, error: str) -> bool:
    """Whether a command is the other one, corrected."""
    words, others = _words(wrong.text), _words(right.text)
    changes = _changes(words, others)
    gone = [word for old, _ in changes for word in old]
    come = [word for _, new in changes for word in new]
    if (
        _is_next(wrong.text, right.text)
        or _GOING_ON & {*come}
        or {*come} in _GOING_ON_SHORT
        or (right.kind is CommandKind.FILES) != (wrong.kind is CommandKind.FILES)
    ):
        return False
    if not gone:
        # Behind another program, or with flags that were missing.
        return (
            others[-len(words) :] == words
            or _LACKING.search(error) is not None
            or all(new[0].startswith(("-", "+")) or "=" in new[0] for _, new in changes if new)
        )
    is_program = _is_named(words[0], error) and len(words) > 1 and others[1 - len(words) :] == words[1:]
    if not come or is_program:
        return any(_is_named(word, error) for word in gone)
    # A flag that the normal form keeps takes no value.
    kept = {"--", *wrong.form.split()}
    valued = {after for before, after in pairwise(words) if before.startswith("-") and before not in kept}
    may_go = {word for word in gone if word.startswith("-") or word in valued or _is_named(word, error)}
    for old, new in changes:
        left = [word for word in old if word not in may_go]
        plain = [word for word in new if not word.startswith("-")]
        if left and not (len(left) == len(plain) and all(map(_is_slip, left, plain))):
            return False
    is_same_work = wrong.topic == right.topic != "git" and wrong.verb == right.verb != ""
    is_word_for_word = words[0] == others[0] and len(words) == len(others)
    return is_same_work or is_word_for_word or act_of(wrong.form) == act_of(right.form)


def _is_next(one: str, other: str) -> bool:
    """Whether two commands are the same but for a number: the next of a kind is not what was meant."""
    is_same = one.split()[:1] == other.split()[:1] and _COUNTED.sub("", one) == _COUNTED.sub("", other)
    return is_same and one != other


def _is_slip(one: str, other: str) -> bool:
    """Whether words differ in a few letters, in the folder of a file, or in what is behind: `build:prod`."""
    one, other = (word.strip("'\"").rstrip("/").rpartition("/")[2][:WORD_CHARS_MAX] for word in (one, other))
    short, long = sorted((one, other), key=len)
    begins = long.startswith(short) and not long[len(short) :][:1].isalnum()
    ends = long.endswith(short) and not long[: -len(short)][-1:].isalnum()
    is_variant = len(short) > 2 and (begins or ends)
    return is_variant or SequenceMatcher(None, one, other, autojunk=False).ratio() >= SLIP_MIN


def _is_only_more(wrong: StepCommand, right: StepCommand) -> bool:
    return not any(old for old, _ in _changes(_words(wrong.text), _words(right.text)))


def _takes_place(failed: Step, fixed: Step, *, is_edited: bool) -> bool:
    """Whether a call was made in a failed one's place: the same program was asked about the same thing, by a
    number or a name."""
    commands, error = acting_commands(failed), error_of(failed)
    is_other = len(commands) == 1 and not any(
        text == other or _is_next(text, other) for text in _texts(failed) for other in _texts(fixed)
    )
    is_code = is_about_code(error) and not is_edited and not any(each.verb == "test" for each in commands)
    if not is_other or not (is_code or is_about_command(error)) or _CONFINED.search(error):
        return False
    program, asked = commands[0].form.partition(" ")[0], _names(commands[0])
    words = {*_words(commands[0].text)}
    wrong = {word for word in words if word.startswith("-") and word in error}
    return any(
        each.form.partition(" ")[0] == program
        and asked & _names(each)
        and not (wrong and words - wrong - {*_words(each.text)})
        for each in acting_commands(fixed)
    )


def _names(command: StepCommand) -> frozenset[str]:
    """What a command is about: the numbers and the names among its values, but for where it is run."""
    values = command.values or command.text.split()[1:]
    names = (name for value in values if not value.startswith(("/", "~")) for name in _NAME.findall(value))
    return frozenset(name for name in names if not name.isalpha() or len(name) >= NAME_CHARS_MIN)


def _only(step: Step, command: StepCommand) -> Step:
    """A call as if it were one of its commands, in the folder that it was run in; a pipeline stays whole."""
    if len(step.commands) == 1 or "|" in step.text.replace("||", ""):
        return step
    before = takewhile(lambda each: each is not command, step.commands)
    folder = [each for each in before if each.kind is CommandKind.MOVING and not command.is_looking][-1:]
    commands = (*folder, command)
    return replace(step, text=" && ".join(each.text for each in commands), commands=commands)


def _texts(step: Step) -> frozenset[str]:
    """What a call runs, whatever is said in it: a message may be another one."""
    return frozenset(" ".join(_words(command.text)) for command in acting_commands(step))


def _is_named(word: str, error: str) -> bool:
    """Whether an error names a word, or of a setting its name."""
    name = word.partition("=")[0].strip("'\"").casefold()
    return len(name) > 1 and name in error.casefold()


def _words(text: str) -> list[str]:
    """The words of a command; what is said in it, such as a message, is none."""
    return _SAID.sub(lambda said: "…" if " " in said[0] or "\n" in said[0] else said[0], text).split()[
        :WORDS_MAX
    ]


def _changes(words: Sequence[str], others: Sequence[str]) -> list[tuple[Sequence[str], Sequence[str]]]:
    words, others = words[:WORDS_MAX], others[:WORDS_MAX]
    codes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    return [(words[a:b], others[c:d]) for tag, a, b, c, d in codes if tag != "equal"]
