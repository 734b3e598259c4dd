"""Commands with an origin of their own (TNT-6): what a suggestion tells that nobody outside has to have told.

A conversation that has read from outside may say anything, so its commands are from outside unless every word
of them has another origin:

- the user typed the line, or the word where it is a name and no everyday word;
- it was behind the same program in a call before anything outside was read, and no call behind a reading had
  it earlier: a file or a summary could have brought it from there. What a session does first, before it has
  read anything at all, counts whenever it was;
- the project's own task files name it as committed, in a folder that an operator bound, wherever it was seen;
- it is of the tool's own language: what everybody runs who has the tool, paths of the working folder among
  it. A flag that forces, skips or loosens something is none of it;
- it names a repository of the one whose project this is: nobody else can make one there. A variable that says
  where a cache is kept is no word of anybody's.

What else would be told is left out where it has none: values that look like anything, and errors that a call
printed which read from outside. A fix is nothing without its error.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from runlore.domain.detectors.match import Match, Occurrence
from runlore.domain.detectors.mined import MinedRun, Step
from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.session import SessionId
from runlore.domain.shell import script_of
from runlore.domain.suggesting.fixes import is_fix, shown_fix
from runlore.domain.suggesting.known_commands import Segment, segments
from runlore.domain.suggesting.parameters import Written
from runlore.domain.taint_sources.commands import outside_of_command, plain_name
from runlore.domain.text.word_tables import words

_FORGE = words(
    "api pr mr issue run repo release workflow view list diff checks status create edit comment ready watch"
    " checkout review main master -f -F"
)
_TASKS = words(
    "run test tests build lint check all fmt format clean install ci dev start help docs typecheck unit e2e"
)
_PACKAGES = _TASKS | words("i sync lock list . --frozen-lockfile")
_FILES_ONLY = words("run check format --write --fix")
# What the tools' own manuals say, and nothing that names a thing of somebody's.
_LANGUAGE: Mapping[str, frozenset[str]] = {
    "git": words(
        "add am apply branch checkout cherry-pick commit diff fetch init log merge mv pull push rebase remote"
        " restore rev-parse show stash status switch tag worktree list pop read-tree origin upstream main"
        " master HEAD origin/main origin/master upstream/main upstream/master . --"
    ),
    **dict.fromkeys(("gh", "glab"), _FORGE),
    "go": words(
        "build test vet run mod tidy generate list fmt version download verify ./... all ."
        " -tags=integration -tags=e2e"
    ),
    "cargo": words("build test check clippy fmt run doc bench"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "pip", "uv", "poetry"), _PACKAGES),
    **dict.fromkeys(("make", "just", "task", "mise", "tox", "nox"), _TASKS),
    **dict.fromkeys(
        ("docker", "docker-compose"), words("compose up down build ps logs restart stop start -d .")
    ),
    "terraform": words("init plan validate fmt"),
    "kubectl": words("get describe logs rollout status"),
    "python": words("-m pytest unittest mypy ruff build"),
    **dict.fromkeys(
        ("pytest", "ruff", "mypy", "black", "isort", "flake8", "eslint", "prettier", "tsc", "jest", "vitest"),
        _FILES_ONLY,
    ),
    **dict.fromkeys(("gofmt", "gofumpt", "goimports", "golangci-lint", "rustfmt", "shellcheck"), _FILES_ONLY),
    **dict.fromkeys(("cd", "ls", "cat", "head", "tail", "wc", "sort", "uniq", "mkdir"), words(".")),
}
# Programs that are given names of tasks, packages or repositories, and not files: a path is one of these.
_TAKING_NAMES = frozenset(
    {
        *(
            "gh",
            "glab",
            "npm",
            "pnpm",
            "yarn",
            "bun",
            "pip",
            "make",
            "just",
            "task",
            "mise",
            "kubectl",
            "docker",
        )
    }
)
_WRAPPERS = (("mise", "exec", "--"), ("uv", "run"), ("poetry", "run"), ("npx",), ("bundle", "exec"), ("env",))
_FLAG = re.compile(r"--?[a-z][a-z-]{0,40}(?:=(?:\d{1,9}|true|false)?)?|-[A-Za-z]{1,3}")
_HARMFUL = re.compile(
    r"force|verify|secure|unsafe|danger|trust|admin|exec|delete|prune|mirror|yes|skip|disable|ignore|allow|bypass"
    r"|reject|unauth|tls|ssl|sandbox|hook|config|upload|receive|pass|token|public|registry|index|url|proxy|hard|auto|toolexec|^-[a-zA-Z]*[fDdxXky]"
)
_PATH = re.compile(r"(?![-/~])(?!(?:.*/)?\.\.(?:/|$))[\w./*@+-]*(?:/|\.[a-z]{1,5}$)[\w./*@+-]*")
_PARAMETER = re.compile(r"<[A-Za-z0-9-]+>")
_NUMBER = re.compile(r"\d{1,9}")
_LETTERS = re.compile(r"[^\W\d_]+")
_FILTERS = frozenset({"--json", "-q", "--jq"})
_PIPES = frozenset({"|", "|&", "||"})
_TYPED = re.compile(r"[^\s`'\"()<>,;]{2,200}")
_NAME = re.compile(r"[^\W\d_]+[\d_./:=@-]|[A-Z].*[a-z]")
_REPOSITORY = re.compile(r"(?:^|/)([\w.-]+/[\w.-]+?)(?:\.git)?(?:/(?:pull|issues|tree|blob|commit)/.*)?$")
_OF_REPOSITORY = re.compile(r"^/?repos/([\w.-]+/[\w.-]+)/[\w./<>-]*(?:\?[\w=&<>-]*)?$")
# A value that names no host and says no sentence: a number, a branch, a path.
_EXAMPLE = re.compile(r"[\d.]{1,40}|[\w…#@+,:-]{1,60}(?:/[\w…#@+.-]{1,80}){0,12}")
# A repository of somebody's, alone, as a parameter, or in an address of a forge's API.
_OF_OWNER = re.compile(
    r"(?:[a-z_]{1,40}=)?(?:/?repos/)?([\w.-]+)/(?:[\w.-]+|<[a-z0-9-]+>)(?:/[\w./<>-]*)?(?:\?[\w=&<>-]*)?"
)
# A variable that is set to a number, to what the reader fills in, or, for a cache alone, to a folder.
_SETTING = re.compile(
    r"[A-Z][A-Z0-9_]{1,60}=(?:\d{1,9}|<[a-z0-9-]+>)"
    r"|[A-Z][A-Z0-9_]{0,60}CACHE(?:_?DIR)?=(?!.*\.\.)[\w./<>+-]{1,200}|TMPDIR=(?!.*\.\.)[\w./<>+-]{1,200}"
)
# What has git read none of its settings.
_NO_SETTINGS = re.compile(r"GIT_CONFIG_(?:NOSYSTEM=1|(?:GLOBAL|SYSTEM)=/dev/null)")
# What programs say when they are called wrongly. An error of these words, and of those of the command, is no
# sentence that somebody else could have put there.
_ERROR_WORDS = words(
    "error fatal unknown flag command option not found no such file or directory matches http unexpected"
    " token expected invalid argument arguments missing required accepts received is already exists used by"
    " at failed to permission denied parent comment branch could resolve line the a of in for"
)
# A call with so many events behind a request at most has no result before it.
_FIRST_ACT_EVENTS = 2


# Programs with words that go with them; with none, whose the project is.
_Named = frozenset[tuple[str, str]]


class OwnOrigins:
    """What sessions show of where words come from; they may be added in any order."""

    def __init__(self) -> None:
        self._uses: dict[tuple[str, str], tuple[datetime, bool]] = {}
        self._first_acts: set[tuple[str, str]] = set()
        self._typed: set[str] = set()
        self._lines: set[Segment] = set()
        self._named: dict[SessionId, _Named] = {}
        self._owners: dict[SessionId, str] = {}

    def add(self, runs: Sequence[MinedRun]) -> None:
        """Take in the runs of one session, in their order."""
        reads = (read.number for run in runs for read in run.outside)
        first_read = min(reads, default=None)
        for run in runs:
            # A project is called by its remote, `host/owner/name`.
            named = run.project.partition("/")[2]
            self._typed.add(named)
            self._owners[run.session_id] = named.partition("/")[0] if "/" in named else ""
            if run.request is not None and run.request.own.strip():
                self._add_typed(cut_pasted(run.request.text))
            begun = run.request.number if run is runs[0] and run.request is not None else None
            for step in run.steps:
                is_clean = first_read is None or step.number <= first_read
                is_first = is_clean and begun is not None and step.number <= begun + _FIRST_ACT_EVENTS
                self._add_step(step, is_clean=is_clean, is_first=is_first)

    def add_named(self, session_id: SessionId, told: Iterable[Segment]) -> None:
        """Take in what the task files of a session's folder name."""
        pairs = {(command[0], word) for command in told for word in command}
        self._named[session_id] = frozenset(pairs)

    def _add_typed(self, text: str) -> None:
        for line in text.splitlines():
            typed = [word.rstrip(".:!?") for word in _TYPED.findall(line)]
            self._typed.update(typed, map(str.casefold, typed))
            self._typed.update(found[1] for word in typed if (found := _REPOSITORY.search(word)))
            self._lines.update(
                tuple(typed[at:end]) for at in range(len(typed)) for end in range(at + 2, at + 9)
            )

    def _add_step(self, step: Step, *, is_clean: bool, is_first: bool) -> None:
        for command in () if step.tool else commands_in(step.text):
            for word in command:
                key = command[0], word
                # Of two at one moment that behind a reading is the first.
                self._uses[key] = min(self._uses.get(key, (step.at, is_clean)), (step.at, is_clean))
                if is_first:
                    self._first_acts.add(key)

    def keep_own(self, written: Written, match: Match) -> tuple[Written, Match] | None:
        """What is told of a match, as far as it has an origin of its own; None where a command has none."""
        nothing: _Named = frozenset()
        named = [self._named.get(each.session_id, nothing) for each in match.occurrences]
        here = named[0].intersection(*named) if named else nothing
        owners = {self._owners.get(each.session_id, "") for each in match.occurrences}
        here |= {("", owner) for owner in owners if owner and len(owners) == 1}
        commands = (command for text in written.commands for command in commands_in(text))
        if not all(self._is_own(command, here) for command in commands):
            return None
        own = replace(match, occurrences=tuple(map(_without_foreign_errors, match.occurrences)))
        if is_fix(match) and shown_fix(match).steps[0].error.strip() and not shown_fix(own).steps[0].error:
            return None
        parameters = tuple(
            replace(each, examples=tuple(filter(self._is_own_value, each.examples)))
            for each in written.parameters
        )
        return replace(written, parameters=parameters), own

    def _is_own_value(self, value: str) -> bool:
        return value in self._typed or _EXAMPLE.fullmatch(value) is not None

    def _is_own(self, command: Segment, here: _Named) -> bool:
        for wrapper in _WRAPPERS:
            if command[: len(wrapper)] == wrapper and len(command) > len(wrapper):
                return self._is_own(command[len(wrapper) :], here)
        if _NO_SETTINGS.fullmatch(command[0]) and len(command) > 1:
            return self._is_own(command[1:], here)
        if _SETTING.fullmatch(command[0]) and len(command) > 1:
            return not _HARMFUL.search(command[0].lower()) and self._is_own(command[1:], here)
        lasting = tuple(word for word in command if not _PARAMETER.fullmatch(word))
        if len(lasting) > 1 and lasting in self._lines:
            return True
        program = plain_name(command[0])
        is_known = program in _LANGUAGE or self._is_used(command[0], command[0]) or _is_connected(program)
        is_known = is_known or (command[0] in self._typed and _NAME.search(command[0]) is not None)
        return (is_known or (command[0], command[0]) in here) and all(
            (command[0], word) in here
            or _is_of_owner(program, word, here)
            or self._is_own_word(command[0], word, before=before)
            for before, word in pairwise(command)
        )

    def _is_own_word(self, called: str, word: str, *, before: str) -> bool:
        program = plain_name(called)
        bare = _PARAMETER.sub("x", word)
        if _PARAMETER.fullmatch(word) or _is_of_language(program, word, bare, before=before):
            return True
        if self._is_used(called, word) or (word in self._typed and _NAME.search(word)):
            return True
        of_repository = _OF_REPOSITORY.match(word)
        if of_repository and program in ("gh", "glab"):
            return of_repository[1] in self._typed
        name, equals, value = word.partition("=")
        is_plain = not _HARMFUL.search(name) and bool(
            _PARAMETER.fullmatch(value) or value.casefold() in self._typed
        )
        return bool(equals) and is_plain and (name.startswith("-") or _is_connected(program))

    def _is_used(self, called: str, word: str) -> bool:
        key = called, word
        return key in self._first_acts or self._uses.get(key, (None, False))[1]


NO_ORIGINS = OwnOrigins()


def origins_of(sessions: Iterable[Sequence[MinedRun]]) -> OwnOrigins:
    """What these sessions show."""
    origins = OwnOrigins()
    for runs in sessions:
        origins.add(runs)
    return origins


def _is_of_owner(program: str, word: str, here: _Named) -> bool:
    """Whether a word names a repository of the one whose project it is: nobody else can make one there."""
    found = _OF_OWNER.fullmatch(word) if program in ("gh", "glab") or _is_connected(program) else None
    return found is not None and ("", found[1]) in here and ".." not in word


def _is_connected(program: str) -> bool:
    """Whether it is a tool of an MCP server: the user has connected it, no text can."""
    return program.startswith("mcp__")


def commands_in(text: str) -> Iterator[Segment]:
    """The commands of a text as their words, those of a pipe apart."""
    if _is_connected(text):
        yield tuple(text.split())
        return
    for segment in segments(text):
        command: list[str] = []
        for word in (*segment, "|"):
            if word not in _PIPES:
                command.append(word)
            elif command:
                yield tuple(command)
                command = []


def _is_of_language(program: str, word: str, bare: str, *, before: str) -> bool:
    known = _LANGUAGE.get(program)
    if known is None:
        return False
    if word in known or _NUMBER.fullmatch(word):
        return True
    if _FLAG.fullmatch(word):
        return not _HARMFUL.search(word)
    if program in _TAKING_NAMES:
        return program in ("gh", "glab") and before in _FILTERS and "env" not in word
    return _PATH.fullmatch(bare) is not None


def prefer_own_errors(match: Match) -> Match:
    """A fix with those times alone whose errors nobody from outside may have written, where there are any."""
    own = tuple(each for each in match.occurrences if not _is_foreign_error(each.steps[0]))
    return replace(match, occurrences=own) if own and is_fix(match) else match


def _without_foreign_errors(occurrence: Occurrence) -> Occurrence:
    """An occurrence without the errors of calls that read from outside: others may have written them."""
    steps = tuple(
        replace(step, error="") if step.error.strip() and _is_foreign_error(step) else step
        for step in occurrence.steps
    )
    return occurrence if steps == occurrence.steps else replace(occurrence, steps=steps)


def _is_foreign_error(step: Step) -> bool:
    reads = bool(step.tool) or any(outside_of_command(each) for each in script_of(step.text).commands)
    known = {*_ERROR_WORDS, *_LETTERS.findall(step.text.casefold())}
    return reads and not known.issuperset(_LETTERS.findall(step.error.casefold()))
