"""What one shell command reads from outside: by its program, by what it runs in its turn, by its files.

Programs that run another command as a part of their own work, and clients of servers.

Where in a runner's words the other command begins is not told by a table: any word that is the name of a
known program could begin it, and a text of several words could be a script.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from runlore.domain.shell import ShellCommand, parts_of, script_of, script_of_words
from runlore.domain.shell.wrappers import SHELLS, WRAPPERS
from runlore.domain.taint_sources.addresses import (
    MORE_THAN_IS_READ,
    ReadingBudget,
    bare_address,
    is_address,
    is_own_machine,
    last_part,
)
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind, Reading
from runlore.domain.taint_sources.paths import (
    ELSEWHERE,
    outside_of_folder,
    outside_of_path,
    outside_of_paths,
)
from runlore.domain.taint_sources.program_texts import (
    INTERPRETERS,
    TEXT_PROGRAMS,
    is_given_text,
    outside_of_text,
)
from runlore.domain.taint_sources.programs import (
    BY_PROGRAM,
    GIT_LISTING,
    GIT_NAMING,
    GIT_SHOWING,
    GIT_WORDS,
    LEAVING_HOME,
    LEAVING_HOME_LETTERS,
    LEAVING_HOME_LETTERS_ELSEWHERE,
    LEAVING_HOME_SETTINGS,
    LOCAL,
    LOCAL_STARTERS,
    MAKING_CLONES,
    MAKING_COPIES,
    NAMING_ONLY,
    NOT_PRINTING,
    SHOWING,
    ProgramRow,
)
from runlore.domain.text.word_tables import words

_RUN = words("run exec")
# Which of their first words run something; where there are none, they always do.
RUNNERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("docker", "podman", "nerdctl", "docker-compose", "podman-compose"),
        words("run exec create compose container"),
    ),
    **dict.fromkeys(("uv", "poetry", "pipenv", "conda", "mamba", "micromamba", "pdm", "hatch", "rye"), _RUN),
    **dict.fromkeys(
        ("bundle", "bundler", "npm", "yarn", "pnpm", "bun", "rbenv", "pyenv", "nodenv"), words("exec")
    ),
    **dict.fromkeys(
        ("mise", "asdf", "rtx", "volta", "fnm", "rustup", "opam", "stack", "cabal"), words("run exec x")
    ),
    **dict.fromkeys(("lxc", "incus", "limactl", "vagrant", "devcontainer", "wsl", "distrobox"), frozenset()),
    **dict.fromkeys(("toolbox", "dotenv", "dotenvx", "foreman", "honcho", "overmind"), frozenset()),
    **dict.fromkeys(("bwrap", "systemd-run", "systemd-nspawn", "flatpak-spawn", "pkexec"), frozenset()),
    **dict.fromkeys(("entr", "watchexec", "nodemon", "hyperfine", "tmux", "screen", "at"), frozenset()),
    **dict.fromkeys(
        ("nix", "pixi", "devbox", "poe", "just", "concurrently", "wait-on", "faketime"), frozenset()
    ),
    **dict.fromkeys(
        ("parallel", "xargs", "gdb", "valgrind", "perf", "coverage", "expect", "script"), frozenset()
    ),
    **dict.fromkeys(
        ("arch", "numactl", "prlimit", "sg", "newgrp", "setpriv", "capsh", "gosu", "tini"), frozenset()
    ),
    **dict.fromkeys(("trap", "alias", "complete", "crontab", "ts-node-dev", "cmd"), frozenset()),
}
# Of these the files that are shown lie in a container or in another system.
PLACES = words(
    "docker podman nerdctl docker-compose podman-compose lxc incus limactl vagrant wsl distrobox multipass"
)
# Clients and the options behind which their server stands; without one they ask this machine.
CLIENTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("ldapsearch", "mosquitto_sub", "snmpwalk", "snmpget"), words("-h -H")),
    "openssl": words("-connect -host --connect --host"),
}
# A client that asks no machine unless it is called with this word.
_ONLY_WITH = {"openssl": "s_client"}
UNTOLD = "a command that cannot be told"
# How many words of a runner are taken for the beginning of another command, and how deep.
STARTS_MAX = 8
DEPTH_MAX = 2
# Names of programs that are remembered: the same few are run over and over.
REMEMBERED_PROGRAMS = 1_024

_VERSIONED = re.compile(r"^(python|pypy|pip|node|ruby|perl|php|lua|gcc|clang)[\d.-]*$")
_EXPANDED = re.compile(r"[$`(){}*?\[\]!<>,]|^:::|^$")
_KEYWORDS = frozenset({"[", "[[", "!", "{", "}"})
# `$(command -v python3)` is python3.
_LOOKED_UP = re.compile(r"^(?:\$\(|`)(?:which|command -v|type -[pP])\s+([\w./+-]+)[)`]$")
_MODULE = re.compile(r"^(?:[^\W\d]\w*\.)*[^\W\d]\w*$")
_REMOTE_MODULE = re.compile(r"^(?!\.)[\w-]+(?:\.[\w-]+)+/|@")
_UNPACKED_TO_PRINT = re.compile(r"-?[A-Za-z]*O[A-Za-z]*$|--to-stdout$|--to-command")
_SED_RUNS = re.compile(r"(?:^|[;{}\d$/!,])\s*e\s+\S|[^\w\s][gpiIm\d]*e[gpiIm\d]*(?:;|$)")
# Programs of which no other table speaks: only the files count that they are called with.
_ONLY_FILES = NAMING_ONLY - {
    *(*BY_PROGRAM, *INTERPRETERS, *TEXT_PROGRAMS, *SHELLS, *WRAPPERS, *RUNNERS, *CLIENTS),
    *("sed", "source", "."),
}
# The programs of which each part of what follows speaks: of any other it says nothing, and is not asked. A
# word without a colon is no address.
_NAMED = frozenset({*BY_PROGRAM, "env", "rsync", "git", "go", "uv"})
_RUNNING_TEXTS = frozenset({*INTERPRETERS, *TEXT_PROGRAMS, *SHELLS, "sed", "tar", "source", "."})
_RUNNING_OTHERS = frozenset({*RUNNERS, "git", "python", "pypy"})
# Options of git in front of its word, with their values.
_GIT_SETTINGS = re.compile(r"\0(?:-[Cc]|--git-dir|--work-tree|--namespace)\0[^\0]*")
# A branch of another repository, but for the one that everybody works from.
_ELSEWHERE = re.compile(
    r"(?:^|\.\.)(?:(?:refs/)?remotes/|refs/pull/)?(?:origin|upstream|fork)/(?!main\b|master\b|HEAD\b)|FETCH_HEAD"
)
_HISTORY = Outside(kind=OutsideKind.HISTORY, brings=Brings.CODE, why="prints what whoever committed it wrote")
_ALL_FILES = Outside(
    kind=OutsideKind.PACKAGE, brings=Brings.CODE, why="prints files that nobody named, those of packages too"
)
_NAMED_ADDRESS = Outside(
    kind=OutsideKind.WEB_PAGE, brings=Brings.TEXT, why="the call names an address elsewhere"
)
ENVIRONMENT = Outside(
    kind=OutsideKind.SENSITIVE_FILE, brings=Brings.TEXT, why="prints the environment, passwords too"
)
_SERVER = Outside(kind=OutsideKind.REMOTE, brings=Brings.TEXT, why="prints what another machine answers")
_PRINTED_ELSEWHERE = Outside(
    kind=OutsideKind.REMOTE, brings=Brings.TEXT, why="prints what programs were told by whoever called them"
)
_UNTOLD = Outside(kind=OutsideKind.UNKNOWN_TOOL, brings=Brings.TEXT, why="nobody can tell what it runs")
_RUN_PACKAGE = Outside(
    kind=OutsideKind.PACKAGE, brings=Brings.CODE, why="fetches and runs code that others wrote"
)


def told_to_make(plain: tuple[str, ...]) -> tuple[str, ...]:
    """What a program of any kind is told to make, behind a word for it: of a copy what is named last."""
    at = next((at for at, word in enumerate(plain) if word in MAKING_COPIES or word in MAKING_CLONES), None)
    if at is None or at + 1 == len(plain):
        return ()
    _, made, *more = plain[at:]
    if plain[at] in MAKING_COPIES:
        return tuple(word for word in more[-1:] if ":" not in word)
    return (last_part(made), *more)


def runs_another(program: str, arguments: Sequence[str]) -> bool:
    when = RUNNERS.get(program)
    return when is not None and (not when or not when.isdisjoint(arguments))


def asks_elsewhere(program: str, arguments: Sequence[str]) -> bool:
    """Whether a client asks another machine than this one, or one that cannot be told."""
    options = CLIENTS.get(program)
    if options is None:
        return False
    needed = _ONLY_WITH.get(program)
    if needed is not None:
        if needed not in arguments:
            return False
        servers = tuple(option_values(arguments, options))
        return not servers or not all(map(_is_here, servers))
    if any(word.startswith("$") for word in arguments):
        return True
    return not all(map(_is_here, option_values(arguments, options)))


def option_values(arguments: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    """What stands behind an option: `-h db`, `-hdb`, `--host=db`."""
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in options and equals:
            yield value
        elif word in options:
            yield from arguments[index + 1 : index + 2]
        elif word[:2] in options and not word.startswith("--"):
            yield word[2:]


def _is_here(server: str) -> bool:
    """Whether a server is this machine: one of its names, or a socket."""
    if server.startswith("/"):
        return True
    return is_own_machine(server if "://" in server else f"tcp://{server}")


def outside_of_command(
    command: ShellCommand, budget: ReadingBudget | None = None, *, depth: int = 0
) -> tuple[Reading, ...]:
    return tuple(_of_command(command, budget or ReadingBudget.of_call(), depth=depth))


def describe_unknown(name: str = "") -> Reading:
    """The reading of a command of which nobody can tell what it runs."""
    return (f"{UNTOLD}: {name}" if name else UNTOLD), _UNTOLD


def named_address(address: str) -> Reading:
    return address, _NAMED_ADDRESS


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def plain_name(program: str) -> str:
    """A program's name without its folder and version: `/usr/bin/python3.11` is `python`."""
    if found := _LOOKED_UP.match(program):
        program = found[1]
    name = program.rstrip("/").rpartition("/")[2].removesuffix(".exe").lower()
    versioned = _VERSIONED.match(name)
    return versioned[1] if versioned else name


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def is_computed_program(program: str) -> bool:
    """Whether a program's name is made up only when the command runs."""
    if program in _KEYWORDS or program.startswith("(("):
        return False
    return _EXPANDED.search(plain_name(program)) is not None


def _of_command(command: ShellCommand, budget: ReadingBudget, *, depth: int) -> Iterator[Reading]:
    if not budget.spend_command(len(command.arguments)):
        yield MORE_THAN_IS_READ
        return
    if is_computed_program(command.program):
        yield describe_unknown()
    program = plain_name(command.program)
    if program in _ONLY_FILES:
        yield from _of_files(program, command)
        return
    if program in _NAMED or any(":" in word for word in command.arguments):
        yield from _of_program(program, command)
    if program in INTERPRETERS or program in SHELLS or "/" in command.program:
        yield from map(named_address, filter(None, map(bare_address, command.arguments)))
    if program in CLIENTS:
        yield from _of_server(program, command)
    if program in _RUNNING_TEXTS:
        yield from _of_texts(program, command)
    yield from _of_files(program, command)
    if program in _RUNNING_OTHERS:
        yield from _of_inner(program, command, budget, depth=depth)


def _of_program(program: str, command: ShellCommand) -> Iterator[Reading]:
    addresses = [word for word in command.arguments if ":" in word and is_address(word)]
    rows = BY_PROGRAM.get(program, ())
    row = next((each for each in rows if _behind(command.arguments, each)), rows[0] if rows else None)
    if program == "env" and not command.arguments:
        yield "env", ENVIRONMENT
    if program == "rsync" and any(":" in word.partition("/")[0] for word in command.arguments):
        (row,) = BY_PROGRAM["scp"]
    behind = _behind(command.arguments, row) if row else ""
    if program == "git" and (other := _git_of_others(command)):
        yield other
    if row is None or (row.when and not behind and not _git_remote(program, command)):
        yield from _of_addresses(program, command, addresses)
        return
    if command.arguments[:1] and command.arguments[0] in row.unless:
        return
    if row.quiet_at_home and _stays_home(program, command):
        return
    if program in LOCAL_STARTERS and command.arguments[:1] and command.arguments[0] in LOCAL:
        # What the project has installed is run, or else what everybody calls so.
        return
    if addresses:
        yield from ((each, row.outside) for each in addresses)
    else:
        yield f"{program} {behind or _first_plain(command.arguments)}".strip(), row.outside


def _of_addresses(program: str, command: ShellCommand, addresses: Sequence[str]) -> Iterator[Reading]:
    """Where no row speaks of a command, any address elsewhere that it is called with counts."""
    words = command.arguments
    if program in NAMING_ONLY or (program == "git" and not GIT_NAMING.isdisjoint(words[:4])):
        return
    options = (word.partition("=")[2] for word in words if word.startswith("-") and "://" in word)
    yield from (named_address(each) for each in (*addresses, *options) if not is_own_machine(each))
    if program == "go" and "run" in words[:1] and any(map(_REMOTE_MODULE.search, words[1:])):
        yield "go run", _RUN_PACKAGE
    if program == "uv" and any(word.startswith("--with") for word in words):
        yield "uv run --with", _RUN_PACKAGE


def is_of_others(command: ShellCommand) -> bool:
    """Whether git is told of a branch of another repository than that from which everybody works."""
    return any(map(_ELSEWHERE.search, command.arguments))


def _git_of_others(command: ShellCommand) -> Reading | None:
    """What git shows that others have written, or what nobody can tell, where no first word says so."""
    plain = _GIT_SETTINGS.sub("", "\0".join(("", *command.arguments))).split("\0")[1:]
    called = next((word for word in plain if not word.startswith("-")), "help")
    if called not in GIT_WORDS:
        return describe_unknown(f"git {called}")
    if called in GIT_LISTING and any(word.startswith(GIT_LISTING[called]) for word in plain):
        return f"git {called}", _HISTORY
    if called in GIT_SHOWING and is_of_others(command):
        return f"git {called}", _HISTORY
    return None


def _git_remote(program: str, command: ShellCommand) -> bool:
    """`git remote update` and `git archive --remote` fetch too, under words that mostly do not."""
    if program != "git":
        return False
    words = command.arguments
    return ("remote" in words and "update" in words) or any(
        word.startswith("--remote") and "archive" in words for word in words
    )


def _behind(arguments: Sequence[str], row: ProgramRow) -> str:
    """The word of `when` that a command begins with: among the first two words that are no value for sure.

    A word behind an option may be its value or a word of its own, and is taken for both.
    """
    sure = 0
    for index, word in enumerate(arguments):
        if word in row.when:
            return word
        if word.startswith("-"):
            continue
        sure += index == 0 or not arguments[index - 1].startswith("-") or "=" in arguments[index - 1]
        if sure == 2:
            break
    return ""


def _first_plain(arguments: Sequence[str]) -> str:
    plain = next((word for word in arguments if not word.startswith("-")), "")
    return plain if plain.replace("-", "").isalpha() else ""


def _stays_home(program: str, command: ShellCommand) -> bool:
    """Whether a request can only reach this machine: every address is its own, nothing leads elsewhere."""
    letters = LEAVING_HOME_LETTERS.get(program, LEAVING_HOME_LETTERS_ELSEWHERE)
    if any(_leaves_home(word, letters) for word in command.arguments):
        return False
    if any(is_address(word) and not is_own_machine(word) for word in command.arguments):
        return False
    if any(
        name in LEAVING_HOME_SETTINGS or name.lower().endswith("_proxy") for name, _ in command.assignments
    ):
        return False
    named = parts_of(command).plain
    return bool(named) and all(is_own_machine(word if "://" in word else f"http://{word}") for word in named)


def _leaves_home(word: str, letters: str) -> bool:
    if word.startswith("--"):
        # An option may be shortened as long as nothing else begins so.
        name = word.partition("=")[0]
        return any(each.startswith(name) for each in LEAVING_HOME)
    # Single letters may stand together: `-sL`.
    return word.startswith("-") and any(letter in word for letter in letters)


def _of_server(program: str, command: ShellCommand) -> Iterator[Reading]:
    if asks_elsewhere(program, command.arguments):
        yield f"{program} of another machine", _SERVER


def _of_texts(program: str, command: ShellCommand) -> Iterator[Reading]:
    words = command.arguments
    if is_given_text(program, words):
        yield from outside_of_text(program, " \n".join(words))
    if command.stdin_text and program in INTERPRETERS:
        yield from outside_of_text(program, command.stdin_text)
    if program == "sed" and any(map(_SED_RUNS.search, _sed_scripts(words))):
        yield describe_unknown("sed")
    if program == "tar" and any("-command" in word or "exec=" in word for word in words):
        yield describe_unknown("tar")
    runs_files = program in SHELLS or program in INTERPRETERS or program in ("source", ".")
    if program in SHELLS and any(map(_EXPANDED.search, words[1:])) and "-c" in words:
        # The script that it is given is made up only then: it has no command yet.
        yield describe_unknown(program)
    if runs_files and any(word.startswith(("<(", "/dev/stdin", "/dev/fd")) for word in words[:2]):
        yield describe_unknown(program)


def _sed_scripts(words: Sequence[str]) -> Sequence[str]:
    return [word for word in words if not word.startswith("-") and ("e " in word or word.endswith("e"))]


def _of_files(program: str, command: ShellCommand) -> Iterator[Reading]:
    if program in ("find", "fd") and _prints_all(command.arguments):
        yield program, _ALL_FILES
    if program in ("tar", "bsdtar") and not any(map(_UNPACKED_TO_PRINT.match, command.arguments)):
        return
    paths = [*command.reads] if command.redirects else []
    found: dict[str, Outside] = {}
    if program not in NOT_PRINTING:
        paths += [
            word.partition("=")[2] or word if word.startswith("--") else word for word in command.arguments
        ]
    if paths:
        names = [path.removeprefix("@") for path in paths]
        if found := dict(outside_of_paths(names)):
            yield from ((path, found[name]) for path, name in zip(paths, names, strict=True) if name in found)
    if program in SHOWING and not found:
        named = (word for word in command.arguments if not word.startswith("-"))
        yield from ((word, outside) for word in named if (outside := outside_of_folder(word)))
    for target in command.writes if command.redirects else ():
        # A connection is written to as a file; what is read from it comes through the same descriptor.
        if target.startswith(("/dev/tcp/", "/dev/udp/")) and (outside := outside_of_path(target)):
            yield target, outside


def _prints_all(words: Sequence[str]) -> bool:
    """Whether a search through the whole folder, packages and all, prints what it finds."""
    prints = {"-exec", "-x", "-execdir"} & {*words} and SHOWING & {*words}
    return (
        bool(prints) and bool({".", "./", "/"} & {*words}) and not {"-prune", "-path", "-maxdepth"} & {*words}
    )


def _of_inner(program: str, command: ShellCommand, budget: ReadingBudget, *, depth: int) -> Iterator[Reading]:
    """What a command runs in its turn: behind `docker run`, behind `python -m`, in an alias of git's."""
    words = command.arguments
    if program == "git":
        for word in words:
            name, _, value = word.partition("=")
            if name.startswith(("alias.", "core.", "filter.", "diff.", "credential.")) and "!" in value[:1]:
                yield from _of_inner_script(value[1:], budget, depth=depth)
            elif name.endswith(("sshcommand", "sshCommand", "pager", "editor", "textconv")) and value:
                yield from _of_inner_script(value, budget, depth=depth)
    if program in PLACES:
        yield from _of_another_place(program, words)
    starts: list[int] = []
    if program in ("python", "pypy"):
        starts += [
            at + 1 for at, word in enumerate(words[:-1]) if word == "-m" and _MODULE.match(words[at + 1])
        ][:1]
        if joined := next((word[2:] for word in words if word.startswith("-m") and len(word) > 2), ""):
            yield from _of_inner_words((joined, *words), budget, depth=depth)
    if runs_another(program, words):
        starts += [at for at, word in enumerate(words) if _begins_command(word)]
        for word in words:
            script = word.partition("=")[2] if program == "alias" else word
            if (" " in script.strip() or program == "alias") and script:
                yield from _of_inner_script(script, budget, depth=depth)
    if len(starts) > STARTS_MAX:
        yield describe_unknown(program)
    for start in starts[:STARTS_MAX]:
        yield from _of_inner_words(words[start:], budget, depth=depth)


def _of_another_place(program: str, words: Sequence[str]) -> Iterator[Reading]:
    """What a container or another system shows of itself."""
    if "up" in words and not {"-d", "--detach", "--wait", "--no-start"} & {*words}:
        yield f"{program} up", _PRINTED_ELSEWHERE
    if shown := next((word for word in words if word in SHOWING), ""):
        yield f"{shown} in another place by {program}", ELSEWHERE


def _begins_command(word: str) -> bool:
    name = plain_name(word)
    return name in BY_PROGRAM or name in INTERPRETERS or name in SHELLS or name in WRAPPERS or name in RUNNERS


def _of_inner_words(words: Sequence[str], budget: ReadingBudget, *, depth: int) -> Iterator[Reading]:
    if depth >= DEPTH_MAX:
        yield describe_unknown(words[0])
        return
    script = script_of_words(words)
    for each in script.commands:
        yield from _of_command(each, budget, depth=depth + 1)
    if script.is_cut:
        yield MORE_THAN_IS_READ


def _of_inner_script(text: str, budget: ReadingBudget, *, depth: int) -> Iterator[Reading]:
    if depth >= DEPTH_MAX:
        yield describe_unknown()
        return
    if not budget.spend_chars(len(text)):
        yield MORE_THAN_IS_READ
        return
    script = script_of(text)
    for each in script.commands:
        yield from _of_command(each, budget, depth=depth + 1)
    if script.is_cut:
        yield MORE_THAN_IS_READ
