"""Programs that run another command: which of their words are theirs, and where the other command begins."""

from collections.abc import Mapping, Sequence

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
    "setarch": _wrapper(skips=1),
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
    for index, argument in enumerate(arguments):
        if not argument.startswith(("-", "+")):
            return None
        if not argument.startswith("--") and "c" in argument[1:] and index + 1 < len(arguments):
            return Inner(script=arguments[index + 1])
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
