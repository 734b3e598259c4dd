"""What a command may read besides its working folder, and the environment that it sees.

Read are the folders that programs are installed in: those of the system, those on the search path, and the
well-known ones of the home folder that hold programs and nothing else. Everything else of the home folder,
keys and other projects, is closed, and so is whatever is named as kept out. Some of the search path may stand
in the working folder (a virtual environment, most often), where a command can put a link in its place: what
leads through the working folder has to end there. The environment is made from a short list of names; nothing
that could hold a secret is on it.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap"),
    *("/proc", "/sys", "/gnu", "/var/lib/flatpak/exports", "/var/lib/snapd/snap"),
    # Where /etc/resolv.conf leads to, and where some systems keep their programs.
    *("/run/systemd/resolve", "/run/resolvconf", "/run/current-system", "/run/wrappers"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# What processes that work together share their locks in.
SHARED = ("/dev/shm",)
# Programs in the home folder, by the tools that put them there. Not one of these holds a key.
_TOOLS = (
    *(
        ".local/bin",
        ".local/lib",
        ".local/pipx",
        ".local/share/pipx",
        ".local/share/uv/python",
        ".local/share/uv/tools",
    ),
    *(".local/share/mise/installs", ".local/share/mise/shims"),
    *(
        ".pyenv",
        ".rbenv",
        ".nodenv",
        ".nvm",
        ".volta",
        ".asdf",
        ".fnm",
        ".local/share/fnm",
        ".sdkman/candidates",
    ),
    *(".rustup", ".cargo/bin", ".bun/bin", ".deno/bin", "go/bin", "go/pkg", ".linuxbrew", "miniconda3"),
    *("anaconda3", "miniforge3", ".local/share/pnpm", ".poetry", ".juliaup", ".ghcup/bin", ".opam"),
)
# What stands beside a folder of programs and belongs to them.
_BESIDE = ("lib", "lib64", "libexec", "include", "pyvenv.cfg")
_PASSED_ON = frozenset(
    {"PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "JAVA_HOME", "VIRTUAL_ENV"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR"}
)
_SET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "SHELL": "/bin/bash",
}
_OF_PROGRAMS = ("bin", "sbin", "shims")
_LINKS_MAX = 40
_PATH_DEFAULT = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, kw_only=True)
class CommandPermissions:
    """What every command of every workspace may read, by path, and the environment it begins with.

    `asking` is this process's own environment: for asking who its user is, and never passed on. With
    `local_sockets` it may speak to other processes of this machine. On the `own_path` stands nothing that a
    command in the working folder could have put there.
    """

    readable: tuple[str, ...] = ()
    own_path: str = ""
    local_sockets: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    asking: Mapping[str, str] = field(default_factory=dict, repr=False)


def build_permissions(
    environment: Mapping[str, str],
    *,
    readable: Iterable[str] = (),
    kept_out: Iterable[str] = (),
    working_folder: str = "",
    local_sockets: bool = False,
) -> CommandPermissions:
    """Work it out from this process's own environment; `readable` are folders that an operator adds. The
    working folder is told without links."""
    home = os.path.realpath(environment.get("HOME") or os.path.expanduser("~"))
    closed = tuple(os.path.realpath(folder) for folder in kept_out)
    wanted = [*SYSTEM, *(os.path.join(home, folder) for folder in _TOOLS)]
    search_path = [folder for folder in _search_path(environment) if not _leads_out(folder, working_folder)]
    wanted += _of_programs(search_path, home)
    places = dict.fromkeys(_safely(wanted, working_folder))
    kept = [place for place in places if not is_within(home, place)]
    kept += _safely(readable, working_folder)
    opened = dict.fromkeys(open_ for place in kept for open_ in _around(place, closed))
    return CommandPermissions(
        readable=tuple(opened),
        own_path=os.pathsep.join(each for each in search_path if not _leads_through(each, working_folder))
        or _PATH_DEFAULT,
        local_sockets=local_sockets,
        environment=_environment(environment, home),
        asking=dict(environment),
    )


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder itself or below it; both without links."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _safely(wanted: Iterable[str], working_folder: str) -> Iterator[str]:
    """Where these are, without links; none that a link in the working folder leads out of it."""
    for path in wanted:
        if os.path.exists(path) and not _leads_out(path, working_folder):
            yield os.path.realpath(path)


def _leads_out(path: str, working_folder: str) -> bool:
    return _leads_through(path, working_folder) and not is_within(os.path.realpath(path), working_folder)


def _leads_through(path: str, working_folder: str) -> bool:
    """Whether a path leads into the working folder, also if out of it again."""
    return bool(working_folder) and any(is_within(step, working_folder) for step in _way(path))


def _way(path: str) -> Iterator[str]:
    """The places that a path leads through, link after link."""
    at, left, links = "/", path.split("/")[::-1], 0
    while left and links <= _LINKS_MAX:
        name = left.pop()
        if name in ("", "."):
            continue
        if name == "..":
            at = os.path.dirname(at)
            continue
        below = os.path.join(at, name)
        yield below
        try:
            leads = os.readlink(below)
        except OSError:
            at = below
            continue
        links += 1
        at = "/" if leads.startswith("/") else at
        left += leads.split("/")[::-1]


def _of_programs(search_path: Iterable[str], home: str) -> Iterator[str]:
    """The folders on the search path, and the libraries that belong to them: what is beside them, and no
    link to a place elsewhere."""
    for folder in search_path:
        real = os.path.realpath(folder)
        name = os.path.basename(folder.rstrip("/"))
        if os.path.basename(real) not in (name, *_OF_PROGRAMS):
            continue
        yield folder
        above = os.path.dirname(real)
        if name in _OF_PROGRAMS and above != home:
            beside = (os.path.join(above, each) for each in _BESIDE)
            yield from (each for each in beside if is_within(os.path.realpath(each), above))


def _around(place: str, closed: tuple[str, ...]) -> Iterator[str]:
    """A folder; where something in it is closed, all that is in there but that."""
    if any(is_within(place, one) for one in closed):
        return
    if not any(is_within(one, place) for one in closed):
        yield place
        return
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for name in names:
        below = os.path.join(place, name)
        if not os.path.islink(below):
            yield from _around(below, closed)


def _search_path(environment: Mapping[str, str]) -> list[str]:
    """Its folders, told whole: any other would be one of the working folder, and a stranger's program in it
    would be what an allowed command runs."""
    folders = environment.get("PATH", _PATH_DEFAULT).split(os.pathsep)
    return [folder for folder in folders if os.path.isabs(folder)]


def _environment(environment: Mapping[str, str], home: str) -> dict[str, str]:
    made = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_ON or (name.startswith("LC_") and name[3:].isalpha())
    }
    made["PATH"] = os.pathsep.join(_search_path(environment)) or _PATH_DEFAULT
    rust = os.path.join(home, ".rustup")
    if os.path.isdir(rust):
        made["RUSTUP_HOME"] = rust
    return {**made, **_SET}
