"""Programs that run another command as a part of their own work, and clients of servers.

Where in a runner's words the other command begins is not told by a table: any word that is the name of a
known program could begin it, and a text of several words could be a script.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from runlore.domain.taint_sources.addresses import is_own_machine
from runlore.domain.taint_sources.kinds import words

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
# Clients and the options behind which their server stands; without one they ask this machine.
CLIENTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("mysql", "mariadb", "mysqldump", "mysqladmin"), words("-h --host")),
    **dict.fromkeys(("psql", "pg_dump", "pg_dumpall", "pgcli", "mycli", "usql"), words("-h --host")),
    **dict.fromkeys(("redis-cli", "valkey-cli", "iredis"), words("-h -u")),
    **dict.fromkeys(("mongo", "mongosh", "mongodump", "mongoexport"), words("--host -h --uri")),
    **dict.fromkeys(("clickhouse-client", "clickhouse", "influx", "cqlsh", "sqlcmd"), words("-h --host -S")),
    **dict.fromkeys(
        ("ldapsearch", "mosquitto_sub", "snmpwalk", "snmpget", "etcdctl"), words("-h -H --endpoints")
    ),
    "openssl": words("-connect -host --connect --host"),
}
# A client that asks no machine unless it is called with this word.
_ONLY_WITH = {"openssl": "s_client"}
# A connection that is described in one word: `host=db user=me`.
_DESCRIBED = re.compile(r"(?<![\w-])host(?:addr)?\s*=\s*'?([^\s']+)")
_SETTINGS = words("PGHOST PGHOSTADDR PGSERVICE MYSQL_HOST REDISCLI_URI DATABASE_URL")


def runs_another(program: str, arguments: Sequence[str]) -> bool:
    """Whether a program runs another command that stands among its words."""
    when = RUNNERS.get(program)
    return when is not None and (not when or not when.isdisjoint(arguments))


def asks_elsewhere(program: str, arguments: Sequence[str], settings: Sequence[str]) -> bool:
    """Whether a client asks another machine than this one, or one that cannot be told."""
    options = CLIENTS.get(program)
    if options is None:
        return False
    needed = _ONLY_WITH.get(program)
    if needed is not None:
        if needed not in arguments:
            return False
        servers = tuple(_values(arguments, options))
        return not servers or not all(map(_is_here, servers))
    if not _SETTINGS.isdisjoint(settings) or any(word.startswith("$") for word in arguments):
        return True
    described = (found[1] for word in arguments for found in _DESCRIBED.finditer(word))
    return not all(map(_is_here, (*_values(arguments, options), *described)))


def _values(arguments: Sequence[str], options: frozenset[str]) -> Iterator[str]:
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
