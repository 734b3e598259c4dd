"""Programs that run another command: which of their words are theirs, and where the other command begins.

What programs that only read do besides when an option says so: write a file, or run another program.

A pattern such as `git log*` or `sed -n*` is meant for reading, and does not allow these options. Programs
that write or run things by nature (`make`, `cp`) have no row: whoever allows them knows.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from runlore.domain.lazy import dataclass

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash"})


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """How to find the command that a program runs.

    `values` are the flags that take the next word, `skips` how many plain words come before the command, and
    `scripts` the flags whose value is a script of its own. `not_with` are flags with which nothing is run.
    """

    values: frozenset[str] = frozenset()
    skips: int = 0
    assigns: bool = False
    scripts: frozenset[str] = frozenset()
    not_with: frozenset[str] = frozenset()


def _wrapper(
    values: str = "", *, skips: int = 0, assigns: bool = False, scripts: str = "", not_with: str = ""
) -> Wrapper:
    return Wrapper(
        values=frozenset(values.split()),
        skips=skips,
        assigns=assigns,
        scripts=frozenset(scripts.split()),
        not_with=frozenset(not_with.split()),
    )


WRAPPERS: Mapping[str, Wrapper] = {
    "sudo": _wrapper(
        "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot --role --type",
        assigns=True,
        not_with="-l --list -v --validate -k -K -e --edit -V",
    ),
    "doas": _wrapper("-u -C -a"),
    "su": _wrapper("-s --shell -g --group", skips=1, scripts="-c --command"),
    "runuser": _wrapper("-u --user -s --shell -g --group", scripts="-c --command"),
    "env": _wrapper("-u --unset -C --chdir", assigns=True, scripts="-S --split-string"),
    "time": _wrapper("-f --format -o --output"),
    "nohup": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p --class --classdata --pid"),
    "chrt": _wrapper(skips=1),
    "taskset": _wrapper(skips=1),
    "timeout": _wrapper("-s -k --signal --kill-after", skips=1),
    "gtimeout": _wrapper("-s -k --signal --kill-after", skips=1),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "unbuffer": _wrapper(),
    "setsid": _wrapper(),
    "command": _wrapper(not_with="-v -V"),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "noglob": _wrapper(),
    "xargs": _wrapper(
        "-I -i -n -P -L -l -d -a -s -E --replace --max-args --max-procs --max-lines --delimiter --arg-file"
    ),
    "parallel": _wrapper("-j --jobs -n -N -a --arg-file --delay --timeout --retries -I --colsep -C"),
    "watch": _wrapper("-n --interval"),
    "caffeinate": _wrapper("-t -w"),
    "strace": _wrapper("-e -o -p -s -u -P -a -E"),
    "ltrace": _wrapper("-e -o -p -s -u -l -x"),
    "flock": _wrapper("-w --timeout -E", skips=1, scripts="-c --command"),
    "chroot": _wrapper("--userspec --groups", skips=1),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "unshare": _wrapper("-S -G --setuid --setgid --root --wd -R -w --propagation"),
    "nsenter": _wrapper("-t --target -S -G --setuid --setgid"),
    "xvfb-run": _wrapper(
        "-s --server-args -n --server-num -e --error-file -f --auth-file -p --xauth-protocol -w --wait"
    ),
    "direnv": _wrapper(skips=2),
    "chronic": _wrapper(),
    "catchsegv": _wrapper(),
    "systemd-inhibit": _wrapper(),
    "dbus-run-session": _wrapper(),
    "firejail": _wrapper(),
    "fakeroot": _wrapper("-l --lib --faked -s -i -b"),
    "linux32": _wrapper(),
    "linux64": _wrapper(),
    "cross-env": _wrapper(assigns=True),
    "ssh-agent": _wrapper("-a -t"),
    "rlwrap": _wrapper("-f -H -C -b -p"),
    "proxychains": _wrapper("-f"),
    "proxychains4": _wrapper("-f"),
    "torsocks": _wrapper("-u -p"),
    "torify": _wrapper(),
    "script": _wrapper("-t --timing", skips=99, scripts="-c --command"),
    "nix-shell": _wrapper("-p -A -I", skips=99, scripts="--run --command"),
}


@dataclass(frozen=True, kw_only=True)
class Inner:
    """What a wrapper runs: the words of a command, with assignments before them, or a script."""

    words: tuple[int, ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    script: str | None = None


def inner_of(program: str, arguments: Sequence[str]) -> Inner | None:
    """What a program runs in its place; None where it runs nothing else. `words` are indexes."""
    if program in SHELLS:
        return _shell_script(arguments)
    if program == "eval":
        return Inner(script=" ".join(arguments)) if arguments else None
    wrapper = WRAPPERS.get(program)
    return _find_inner(wrapper, arguments) if wrapper else None


def _shell_script(arguments: Sequence[str]) -> Inner | None:
    is_script = False
    for argument in arguments:
        if not argument.startswith(("-", "+")):
            return Inner(script=argument) if is_script else None
        is_script = is_script or (not argument.startswith("--") and "c" in argument[1:])
    return None


def _find_inner(wrapper: Wrapper, arguments: Sequence[str]) -> Inner | None:
    index, skips = 0, wrapper.skips
    assignments: list[tuple[str, str]] = []
    while index < len(arguments):
        word = arguments[index]
        name, equals, value = word.partition("=")
        if word in wrapper.not_with:
            return None
        if word in wrapper.scripts and index + 1 < len(arguments):
            return Inner(script=arguments[index + 1])
        if name in wrapper.scripts and equals:
            return Inner(script=value)
        if word == "--":
            index += 1
            if skips == 0:
                break
            continue
        if word.startswith("-") and word != "-":
            index += 2 if word in wrapper.values else 1
        elif wrapper.assigns and equals and name.isidentifier():
            assignments.append((name, value))
            index += 1
        elif skips:
            skips, index = skips - 1, index + 1
        else:
            break
    if index >= len(arguments):
        return None
    return Inner(words=tuple(range(index, len(arguments))), assignments=tuple(assignments))


# Long options by their whole name, which may be cut short where they are used; single letters may be joined.
OPTIONS: Mapping[str, str] = {
    "ack": "--ackrc --pager",
    "ag": "--pager",
    "bat": "--pager",
    "clang-format": "-i",
    "curl": "-D -K -O -T -c -o --alt-svc --config --cookie-jar --dump-header --etag-save --hsts --libcurl"
    " --output --output-dir --remote-name --remote-name-all --stderr --trace --trace-ascii --upload-file",
    "date": "-s --set",
    "delta": "--pager",
    "diff": "--output",
    "eslint": "-o --fix --output-file",
    "fd": "-x -X --exec --exec-batch",
    "file": "-C --compile",
    "find": "-delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir",
    "gcc": "-fplugin -specs -wrapper",
    "gh": "-F -X -f --field --input --method --raw-field",
    "git": "-c --config-env --exec-path --ext-diff --git-dir --open-files-in-pager --output"
    " --output-directory --receive-pack --textconv --upload-pack --work-tree",
    "gofmt": "-w",
    "iconv": "-o --output",
    "journalctl": "--cursor-file --rotate --vacuum-files --vacuum-size --vacuum-time",
    "kubectl": "--kubeconfig",
    "less": "-k -o -O --log-file --LOG-FILE --lesskey-content --lesskey-file --lesskey-src",
    "man": "-C -H -P --config-file --html --pager",
    "mypy": "--any-exprs-report --cobertura-xml-report --config-file --html-report --install-types"
    " --junit-xml --python-executable --txt-report --xml-report --xslt-html-report --xslt-txt-report",
    "openssl": "-config -engine -out -provider-path",
    "prettier": "-w --write",
    "pandoc": "-F -L -o --extract-media --filter --lua-filter --output --pdf-engine",
    "psql": "-L -f -o --file --log-file --output",
    "rsync": "-e --rsh --rsync-path",
    "sqlite3": "-cmd -init",
    "ssh": "-F -o",
    "ssh-keygen": "-D -w",
    "terraform": "-chdir -out -plugin-dir",
    "go": "-exec -o -toolexec -vettool -w",
    "ruff": "-o --add-noqa --fix --fix-only --output-file",
    "rg": "--hostname-bin --pre",
    "shfmt": "-w --write",
    "shuf": "-o --output",
    "sort": "-o --compress-program --output",
    "tar": "-F -I --checkpoint-action --index-file --info-script --new-volume-script --rsh-command"
    " --to-command --use-compress-program",
    "tree": "-o",
    "tsc": "--outDir --outFile",
    "wget": "-O -P -o --directory-prefix --execute --output-document --output-file --use-askpass",
    "xmllint": "--output",
    "yq": "-i -s --inplace --split-exp",
}
# An address, or two; then one letter that prints, deletes or ends; or a substitution that only prints.
_SED_STEP = re.compile(
    r"\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)(?:,(?:\d+|\$|[+~]\d+|/(?:[^/\\\n]|\\.)*/I?))?)?!?\s*"
    r"(?:[pdqPDQ=]|s(?P<by>[/|,#@])(?:(?!(?P=by))[^\\\n]|\\.)*(?P=by)(?:(?!(?P=by))[^\\\n]|\\.)*(?P=by)[gpiI\d]*)\s*"
)
_DOT_COMMAND = re.compile(r"(?:^|[\n;])\s*\.[a-z]")
# Functions and statements of SQL by which a client or its server writes a file or runs a program.
_SQL_DOES = re.compile(
    r"\b(?:writefile|edit|load_extension)\s*\(|\b(?:attach|vacuum\s.*into|copy\s.*(?:program|to\s+'))\b",
    re.IGNORECASE | re.DOTALL,
)
_AWK_DOES = re.compile(r"[|>@]|\bsystem\b|\bgetline\b")


def side_effect_of(name: str, arguments: Sequence[str]) -> str | None:
    """The word by which a program that reads would write or run something; None where there is none."""
    options = OPTIONS.get(name, "").split()
    for word in arguments:
        if options and any(_is_option(word, option) for option in options):
            return word
    special = _SPECIAL.get(name)
    return special(arguments) if special else None


def _is_option(word: str, option: str) -> bool:
    name = word.partition("=")[0]
    if option.startswith("--"):
        return len(name) > len("--o") and option.startswith(name)
    if len(option) > len("-x"):
        return name == option
    return word.startswith("-") and not word.startswith("--") and option[1] in word[1:]


def _of_sed(arguments: Sequence[str]) -> str | None:
    is_script = True
    for at, word in enumerate(arguments):
        name, _, value = word.partition("=")
        before = arguments[at - 1] if at else ""
        if before in ("-e", "--expression") or (is_script and not word.startswith("-")):
            is_script, script = False, word
        elif name == "--expression":
            is_script, script = False, value
        elif word in ("-n", "-E", "-r", "-s", "-u", "-z", "-e", "-nE", "-En", "-nr", "--quiet", "--silent"):
            continue
        elif word.startswith("-"):
            return word
        else:
            continue
        if not all(_SED_STEP.fullmatch(step) for step in re.split(r"[;\n]", script) if step.strip()):
            return word
    return None


def _of_awk(arguments: Sequence[str]) -> str | None:
    return next(
        (
            word
            for word in arguments
            if _AWK_DOES.search(word)
            or word.startswith(("-f", "-i", "-l", "-E", "-d", "-D", "-o", "-p", "--"))
        ),
        None,
    )


def _of_git(arguments: Sequence[str]) -> str | None:
    """A transport that is a program; what a letter or a word does behind some of its subcommands only."""
    if transport := next((word for word in arguments if word.startswith("ext::")), None):
        return transport
    at = next((at for at, word in enumerate(arguments) if word in _GIT_LETTERS), None)
    if at is None:
        return None
    option = _GIT_LETTERS[arguments[at]]
    behind = arguments[at + 1 :]
    return next(
        (word for word in behind if word == option or (option[0] == "-" and _is_option(word, option))), None
    )


def _of_two_files(arguments: Sequence[str]) -> str | None:
    files = [word for word in arguments if not word.startswith("-")]
    return files[1] if len(files) > 1 else None


def _of_client(arguments: Sequence[str]) -> str | None:
    """A command of the client itself: it writes files and runs programs: psql's `\\!`, sqlite3's `.shell`."""
    does = (word for word in arguments if "\\" in word or _DOT_COMMAND.search(word) or _SQL_DOES.search(word))
    return next(does, None)


def _of_less(arguments: Sequence[str]) -> str | None:
    return next((word for word in arguments if word.startswith("+")), None)


_GIT_LETTERS = {
    "archive": "-o",
    "bisect": "run",
    "clone": "-u",
    "difftool": "-x",
    "format-patch": "-o",
    "grep": "-O",
    "hook": "run",
    "rebase": "-x",
    "submodule": "foreach",
}
_SPECIAL: Mapping[str, Callable[[Sequence[str]], str | None]] = {
    "sed": _of_sed,
    "awk": _of_awk,
    "gawk": _of_awk,
    "mawk": _of_awk,
    "less": _of_less,
    "psql": _of_client,
    "sqlite3": _of_client,
    "git": _of_git,
    "uniq": _of_two_files,
    "xxd": _of_two_files,
}
