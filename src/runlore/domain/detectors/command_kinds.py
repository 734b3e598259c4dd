"""What a command is for: work, or something that neither counts as a step nor breaks a row of steps (SKL-3).

The rows are read from the top; the first that fits decides, and a command that none fits is work.
"""

from collections.abc import Mapping, Sequence

from runlore.domain.detectors.mined import CommandKind
from runlore.domain.detectors.verbs import TASK_RUNNERS
from runlore.domain.lazy import dataclass
from runlore.domain.shell import CommandParts, ShellCommand
from runlore.domain.text.word_tables import words

WORK, LOOKING, EDITING = CommandKind.WORK, CommandKind.LOOKING, CommandKind.EDITING
PLUMBING, FILES, MOVING = CommandKind.PLUMBING, CommandKind.FILES, CommandKind.MOVING


@dataclass(frozen=True, kw_only=True)
class KindRow:
    """Commands of one kind, and why.

    `behind` are the words that follow the program, as `status` or `stash list`; without any, all do. `only`
    are flags of which one has to be there, and `never` flags with which the row does not fit; one with a star
    is told by its beginning. `bare` fits only where nothing follows but flags.
    """

    kind: CommandKind
    programs: tuple[str, ...]
    why: str
    behind: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    bare: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the program alone decides."""
        return not (self.behind or self.only or self.never or self.bare)


def _row(
    kind: CommandKind,
    programs: str,
    why: str,
    *,
    behind: str = "",
    only: str = "",
    never: str = "",
    bare: bool = False,
) -> KindRow:
    return KindRow(
        kind=kind,
        programs=tuple(programs.split()),
        why=why,
        behind=frozenset(each.strip() for each in behind.split(",") if each.strip()),
        only=tuple(only.split()),
        never=tuple(never.split()),
        bare=bare,
    )


KINDS: Sequence[KindRow] = (
    _row(MOVING, "cd pushd popd chdir z", "says where the next command works; counts where it stands alone"),
    _row(LOOKING, "ls ll la dir exa eza lsd tree pwd du df stat file", "lists what is there"),
    _row(LOOKING, "find", "looks for files", never="-delete -exec* -ok*"),
    _row(FILES, "find", "acts on the files that it finds"),
    _row(LOOKING, "fd fdfind", "looks for files", never="-x --exec* -X"),
    _row(LOOKING, "locate which whereis type whatis apropos man info help hash", "asks where something is"),
    _row(LOOKING, "command", "asks where something is", only="-v -V"),
    _row(LOOKING, "cat bat head tail less more nl tac xxd hexdump od strings zcat", "prints a file"),
    _row(LOOKING, "grep egrep fgrep rg ag ack zgrep", "searches in files"),
    _row(EDITING, "sed gsed", "changes files in place", only="-i* --in-place* -Ei* -ri* -ni*"),
    _row(
        LOOKING,
        "sed gsed awk gawk mawk cut sort uniq tr column paste join fold rev wc jq yq xq xmllint comm shuf"
        " numfmt gron",
        "takes a text apart",
    ),
    _row(
        LOOKING,
        "diff cmp colordiff sdiff md5sum sha1sum sha256sum sha512sum shasum md5 cksum b2sum",
        "compares",
    ),
    _row(
        LOOKING,
        "ps top htop pgrep pidof lsof netstat ss free uptime vmstat iostat nproc lscpu lsblk dmesg"
        " journalctl w"
        " who last jobs ulimit pstree",
        "looks at the machine",
    ),
    _row(
        LOOKING,
        "whoami id groups hostname uname arch date cal tty locale printenv history getconf sw_vers"
        " lsb_release"
        " getent",
        "asks who and where one is",
    ),
    _row(LOOKING, "env set export declare alias", "prints what is set", bare=True),
    _row(LOOKING, "basename dirname realpath readlink seq expr bc tput", "works out a name or a number"),
    _row(LOOKING, "test [ [[ ((", "asks a question of the shell"),
    _row(LOOKING, "ping dig nslookup host traceroute whois ip ifconfig arp", "asks the network"),
    _row(LOOKING, "echo printf", "prints its own words"),
    _row(
        PLUMBING,
        "true false : sleep wait clear reset exit return break continue shift export set unset declare local"
        " readonly typeset alias unalias source . eval trap read exec stty yes let umask shopt disown fg bg"
        " builtin enable getopts times xargs pbcopy pbpaste env mapfile readarray",
        "serves the shell itself",
    ),
    _row(PLUMBING, "kill pkill killall", "ends what was started along the way"),
    _row(
        EDITING,
        "tee ed ex vi vim nvim nano emacs patch apply_patch applypatch dd truncate split csplit",
        "writes a file",
    ),
    _row(EDITING, "perl ruby", "changes files in place", only="-i* -pi* -0pi* -0777pi* -ni*"),
    _row(PLUMBING, "python pypy", "runs a text that was made up for this once", only="-c -"),
    _row(
        PLUMBING,
        "node bun deno",
        "runs a text that was made up for this once",
        only="-e -p --eval* --print -",
    ),
    _row(
        PLUMBING,
        "perl ruby lua php Rscript osascript",
        "runs a text that was made up for this once",
        only="-e* -E -n* -p* -r -ne* -pe* -le* -lne* -",
    ),
    _row(
        LOOKING,
        "git",
        "looks at the repository",
        behind="status, diff, log, show, rev-parse, ls-files, ls-tree, ls-remote, blame, annotate, describe,"
        " reflog, shortlog, cat-file, grep, rev-list, merge-base, name-rev, symbolic-ref, for-each-ref,"
        " show-ref, show-branch, diff-tree, diff-index, diff-files, range-diff, count-objects, check-ignore,"
        " check-attr, whatchanged, stash list, stash show, worktree list, remote show, remote get-url,"
        " config get, config list, var, version, help, submodule status, bisect log, notes show,"
        " verify-commit, verify-tag, lfs ls-files, cherry, hash-object, fsck, diff-pairs",
    ),
    _row(
        LOOKING,
        "git",
        "lists branches, tags or remotes",
        behind="branch, tag, remote",
        bare=True,
        never="-d -D -m -M --delete --move",
    ),
    _row(
        LOOKING,
        "git",
        "lists branches or tags",
        behind="branch, tag",
        only="-l --list -a -r --all --contains* --merged* --no-merged* --points-at* --show-current -v -vv",
    ),
    _row(LOOKING, "git", "reads a setting", behind="config", only="--get* --list -l"),
    _row(
        LOOKING,
        "docker podman nerdctl",
        "looks at containers and images",
        behind="ps, logs, images, inspect, stats, top, info, version, port, diff, history, search, events,"
        " image ls, image list, image inspect, container ls, container ps, container list, container inspect,"
        " container logs, volume ls, volume inspect, network ls, network inspect, compose ps, compose logs,"
        " compose config, compose images, compose top, compose ls, compose version, context ls, system df,"
        " system info, buildx ls, buildx inspect, stack ls, stack ps, service ls, service ps, service logs,"
        " manifest inspect",
    ),
    _row(LOOKING, "docker-compose", "looks at containers", behind="ps, logs, config, images, top, version"),
    _row(
        LOOKING,
        "kubectl oc k",
        "looks at a cluster",
        behind="get, describe, logs, top, explain, version, cluster-info, api-resources, api-versions,"
        " events,"
        " diff, config view, config get-contexts, config current-context, rollout history,"
        " auth can-i",
    ),
    _row(WORK, "kubectl oc k", "waits until what was rolled out runs", behind="rollout status"),
    _row(
        LOOKING, "helm", "looks at releases", behind="list, ls, status, get, history, show, search, version"
    ),
    _row(WORK, "gh", "looks into a pipeline", behind="run view", only="--log --log-failed"),
    _row(
        LOOKING,
        "gh",
        "looks at what is on the server",
        behind="pr view, pr list, pr diff, pr status, issue view, issue list, issue status,"
        " run view, run list, run watch, release view, release list, repo view, repo list, api, search,"
        " status,"
        " search code, search issues, search prs, search repos, auth status, workflow view, workflow list,"
        " gist view, gist list, label list, browse, variable list, secret list",
    ),
    _row(
        LOOKING,
        "glab",
        "looks at what is on the server",
        behind="mr view, mr list, mr diff, issue view, issue list, ci view, ci list, ci status, api",
    ),
    _row(
        LOOKING,
        "npm yarn pnpm bun",
        "looks at packages",
        behind="ls, list, view, info, show, outdated, why, explain, search, config get, config list,"
        " root, prefix,"
        " bin, help, whoami, pkg get, ping, docs, owner ls, fund",
    ),
    _row(LOOKING, "npm pnpm yarn", "lists the scripts", behind="run", bare=True),
    _row(
        LOOKING,
        "pip pipx uv",
        "looks at packages",
        behind="list, show, freeze, index, debug, inspect, config, pip list, pip show, pip freeze, pip tree,"
        " python list, python find, tool list, tree, cache dir, help, index versions",
    ),
    _row(
        LOOKING, "pip pipx uv poetry", "tells a version", behind="version", never="--bump* patch minor major"
    ),
    _row(
        LOOKING, "conda mamba poetry", "looks at packages", behind="list, info, show, search, env list, about"
    ),
    _row(LOOKING, "go", "looks at a module", behind="list, env, version, doc, help, mod graph, mod why"),
    _row(
        LOOKING,
        "cargo rustup rustc",
        "looks at a crate",
        behind="tree, metadata, search, info, version, show, locate-project, pkgid, help, toolchain list,"
        " target list, component list",
    ),
    _row(
        LOOKING,
        "brew apt apt-get apt-cache dpkg rpm yum dnf pacman apk snap",
        "looks at packages",
        behind="list, info, search, show, policy, depends, rdepends, outdated, deps, leaves, config, help",
    ),
    _row(LOOKING, "dpkg rpm pacman", "looks at packages", only="-l -L -S -s -q -qa -ql -Q* -Ss -Si -qi"),
    _row(
        LOOKING,
        "systemctl service launchctl",
        "looks at services",
        behind="status, list-units, list-unit-files, show, is-active, is-enabled, is-failed, cat, list",
    ),
    _row(
        LOOKING,
        "terraform tofu",
        "looks at a state",
        behind="show, output, version, providers, graph, state list, state show, workspace list,"
        " workspace show",
    ),
    _row(
        LOOKING,
        "aws gcloud az",
        "looks at an account",
        behind="help, version, configure list, sts get-caller-identity, config list, account show, info",
    ),
    _row(
        LOOKING,
        "mise asdf nvm fnm volta pyenv rbenv nodenv sdk",
        "looks at tools",
        behind="current, ls, list, which, where, version, versions, tasks, doctor, env, settings, registry",
    ),
    _row(LOOKING, "golangci-lint", "looks at linters", behind="linters, formatters, config, help, version"),
    _row(LOOKING, "make just task", "lists the targets", only="-n --dry-run --list -l --summary -p -q"),
    _row(LOOKING, "tar unzip crontab zipinfo", "lists what is in it", only="-t --list -l", never="-x -c"),
    _row(
        LOOKING, "tmux screen", "looks at terminals", behind="ls, list-sessions, list-windows, capture-pane"
    ),
    _row(PLUMBING, "tmux screen", "serves a terminal"),
    _row(LOOKING, "open xdg-open code cursor subl", "shows something to a person"),
    _row(
        FILES,
        "mkdir rmdir rm cp mv ln touch chmod chown chgrp install unlink mktemp shred mkfifo",
        "handles files; counts as a step",
    ),
)

# Flags with which any program only tells about itself, and those that do so where nothing else is said.
TELLING, TELLING_ALONE = frozenset({"--version", "--help"}), frozenset({"-h", "-V", "-help", "-version"})
_TELLING_WORDS = frozenset({"version", "help"})
# Words behind any program's name with which it shows something and does nothing. A task that somebody has
# given such a name is another matter.
LOOKING_WORDS = frozenset(
    ("show", "list", "ls", "status", "describe", "view", "info", "inspect", "logs", "history", "search",
     "whoami", "doctor", "capabilities", "context", "contexts", "current", "heads", "explain")
)  # fmt: skip
# Programs whose output, sent into a file, makes that file.
WRITERS = frozenset(
    {"cat", "echo", "printf", "sed", "awk", "jq", "tee", "head", "tail", "grep", "yq", "sort", "tr", "cut"}
)
# Programs that run a text which is fed to them.
INTERPRETERS = frozenset({"python", "pypy", "node", "ruby", "perl", "php", "lua", "deno", "bun"})


def _by_program() -> Mapping[str, tuple[KindRow, ...]]:
    found: dict[str, tuple[KindRow, ...]] = {}
    for row in KINDS:
        for program in row.programs:
            found[program] = (*found.get(program, ()), row)
    return found


_BY_PROGRAM = _by_program()
# Programs that ask a server when they only look. All others that a row names look at this machine.
SERVICES = words(
    """
    gh glab hub az aws gcloud kubectl oc helm docker podman nerdctl docker-compose terraform tofu systemctl
    """
)
LOCAL_PROGRAMS = frozenset(_BY_PROGRAM) - SERVICES
# Programs of which nothing but the name has to be known, and what they are for.
NEVER_COUNTING: Mapping[str, CommandKind] = {
    program: rows[0].kind
    for program, rows in _BY_PROGRAM.items()
    if rows[0].is_plain and rows[0].kind in (LOOKING, PLUMBING)
}


def writes_file(command: ShellCommand) -> bool:
    """Whether a command's output goes into a file, and not into nothing or another descriptor."""
    return any(
        target and not target.isdigit() and target != "-" and not target.startswith(("/dev/", "&"))
        for target in command.writes
    )


def is_fed(command: ShellCommand) -> bool:
    """Whether a command is given what it works on: by a heredoc or by a pipe."""
    return command.place > 0 or bool(command.stdin_text) or any("\n" in target for target in command.reads)


def kind_of(
    parts: CommandParts, arguments: Sequence[str], *, writes: bool = False, fed: bool = False
) -> CommandKind:
    """What a command is for. `parts` are those of the command that does the work, behind `uv run` and so on;
    `writes` and `fed` say that its output goes into a file, and that it is given its input."""
    if writes and parts.program in WRITERS:
        return EDITING
    if fed and parts.program in INTERPRETERS and not parts.plain and not parts.subcommands:
        return PLUMBING
    if _only_tells(arguments):
        return LOOKING
    words = (*parts.subcommands, *parts.plain)[:2]
    rows = _BY_PROGRAM.get(parts.program, ())
    found = next((row.kind for row in rows if _fits(row, words, parts, arguments)), None)
    if found is not None:
        return found
    return LOOKING if _shows(parts, words) else CommandKind.WORK


def _shows(parts: CommandParts, words: Sequence[str]) -> bool:
    """Whether a program that no row names is told to show something: `flyctl status`, `acme trail show`."""
    if parts.program in TASK_RUNNERS or parts.program in INTERPRETERS or "/" in parts.program:
        return False
    if parts.subcommands == ("run",):
        # `go run ./cmd/acme status`: what is run comes first.
        return any(word in LOOKING_WORDS for word in parts.plain[1:2])
    return any(word in LOOKING_WORDS or word.endswith("help") for word in words)


def _only_tells(arguments: Sequence[str]) -> bool:
    if len(arguments) == 1 and (arguments[0] in TELLING_ALONE or arguments[0] in _TELLING_WORDS):
        return True
    return any(word in TELLING for word in arguments[-2:])


def _fits(row: KindRow, words: Sequence[str], parts: CommandParts, arguments: Sequence[str]) -> bool:
    if row.behind and not any(" ".join(words[:count]) in row.behind for count in (1, 2)):
        return False
    if row.bare and (parts.plain or len(parts.subcommands) > bool(row.behind)):
        return False
    flags = (*arguments, *parts.flags)
    if row.only and not any(_is_flag(word, row.only) for word in flags):
        return False
    return not (row.never and any(_is_flag(word, row.never) for word in flags))


def _is_flag(word: str, flags: Sequence[str]) -> bool:
    return any(word.startswith(flag[:-1]) if flag.endswith("*") else word == flag for flag in flags)
