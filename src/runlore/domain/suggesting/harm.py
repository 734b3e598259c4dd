"""What a skill should not lead anybody to do: take something away unseen, or go around a project's rules.

A command is told by its normal form, which sees through `sudo`, `env` and paths, and has what the program is
told to do behind its name, whatever flags stand between. A row of the table names programs, what they are
told (any one of it; nothing where the program alone says it all), and flags of which one has to be there.
"""

import re
from collections.abc import Sequence

from runlore.domain.detectors.mined import StepCommand
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.words import words_of

TEXT_CHARS_MAX = 4_000


@dataclass(frozen=True, kw_only=True)
class _Row:
    programs: frozenset[str]
    told: tuple[tuple[str, ...], ...] = ()
    flags: frozenset[str] = frozenset()


def _row(programs: str, told: str = "", *, flags: str = "") -> _Row:
    return _Row(
        programs=frozenset(programs.split()),
        told=tuple(tuple(each.split()) for each in told.split(",") if each.strip()),
        flags=frozenset(flags.split()),
    )


_ROWS: Sequence[_Row] = (
    # Files and disks.
    _row("rm", flags="-r -R --recursive"),
    _row("find", flags="-delete"),
    _row("shred wipefs blkdiscard mkfs mkswap dropdb dropuser"),
    _row("rsync", flags="--delete --delete-after --delete-before --delete-during --delete-excluded"),
    _row("crontab", flags="-r"),
    # Git and what hosts it.
    _row("git", "reset", flags="--hard"),
    _row("git", "clean", flags="-f --force"),
    _row("git", "push", flags="-f --force --force-with-lease --delete -d --mirror --prune"),
    _row("git", "branch", flags="-D"),
    _row("git", "checkout, switch", flags="-f --force --discard-changes"),
    _row("git", "stash drop, stash clear, filter-branch, filter-repo, update-ref -d, reflog expire"),
    _row("git", "worktree remove, tag", flags="-f --force -d --delete"),
    _row("gh glab", "release delete, repo delete, run delete, cache delete, secret delete, variable delete"),
    # Containers, clusters, infrastructure.
    _row("docker podman nerdctl docker-compose", "compose down, down", flags="-v --volumes"),
    _row("docker podman nerdctl docker-compose", "compose rm, rm", flags="-v --volumes"),
    _row("docker podman nerdctl", "volume rm, volume prune, volume remove, system prune, system reset"),
    _row("kubectl oc k3s", "delete, drain, replace --force"),
    _row("kind k3d minikube", "delete, cluster delete"),
    _row("helm", "uninstall, delete, del"),
    _row("terraform tofu terragrunt", "destroy, force-unlock, state rm, workspace delete, taint"),
    _row("terraform tofu terragrunt", "apply", flags="-destroy --destroy"),
    _row("pulumi cdk serverless sls copilot", "destroy, remove, stack rm"),
    # Clouds: what is deleted stands behind one or more words.
    _row("aws", "s3 rm, s3 sync", flags="--recursive --delete"),
    _row("aws", "s3 rb"),
    _row("gsutil", "rm, rb"),
    _row("gsutil", "rsync", flags="-d"),
    _row("heroku", "pg:reset, apps:destroy, addons:destroy"),
    _row("fly flyctl", "destroy, apps destroy, volumes destroy, machine destroy"),
    # Databases.
    _row("rails rake", "db:drop, db:reset, db:purge, db:schema:load, db:migrate:reset, db:truncate_all"),
    _row("artisan", "migrate:fresh, migrate:reset, migrate:refresh, db:wipe"),
    _row("manage.py django-admin", "flush, reset_db, sqlflush"),
    _row("mix", "ecto.drop, ecto.reset"),
    _row("prisma", "migrate reset"),
    _row("prisma", "db push", flags="--force-reset --accept-data-loss"),
    _row("alembic", "downgrade base"),
    _row("sequelize sequelize-cli", "db:drop"),
    _row("redis-cli valkey-cli", "flushall, flushdb"),
    _row("mysqladmin", "drop"),
    # What has been published.
    _row("npm pnpm yarn", "unpublish"),
    _row("cargo gem", "yank"),
)  # fmt: skip
# Programs of clouds whose last word of what they are told says that something goes.
_CLOUDS = frozenset({"aws", "gcloud", "az", "doctl", "linode-cli", "hcloud", "oci", "ibmcloud"})
_DELETING = re.compile(r"^(?:delete|terminate|destroy|purge|remove)(?:$|-)")
_CLIENTS = frozenset(
    ("psql", "mysql", "mariadb", "sqlite3", "duckdb", "clickhouse-client", "mongosh", "mongo", "sqlcmd", "bq",
     "cockroach", "snowsql", "usql", "pgcli", "cqlsh")
)  # fmt: skip
_LOSING_QUERY = re.compile(
    r"\b(?:drop\s{1,9}(?:database|schema|table|view|materialized|index|role|user|keyspace|column|owned|type)"
    r"|truncate\s{1,9}\w|delete\s{1,9}from|alter\s{1,9}table\s[^;]{1,200}\sdrop\b"
    r"|dropDatabase\s{0,9}\(|\.drop\s{0,9}\(|deleteMany\s{0,9}\()",
    re.IGNORECASE,
)
_LOCK = re.compile(r"(?:^|[./_-])lock(?:file)?$|\.pid$", re.IGNORECASE)
_DEVICE = re.compile(r"^of=/dev/(?!null$|stdout$|stderr$|zero$)")
_LOOSE = re.compile(r"^(?:0?[0-7]?[0-7][0-7][2367]|(?:[ugo]{0,3}[ao][ugo]{0,3}|)[+=][rx]{0,2}w[rxXst]{0,4})$")
_RECURSIVE = frozenset({"-R", "--recursive"})
_REMOVING = re.compile(r"\brm\s{1,9}-[A-Za-z]{0,8}[rR]|\b(?:mkfs|dropdb|wipefs)\b")
_SHORT = re.compile(r"^-[A-Za-z]{2,8}$")
_AROUND = frozenset(
    {"--no-config", "--no-eslintrc", "--no-verify", "--isolated", "--no-project", "--no-gpg-sign"}
)


def takes_away(command: StepCommand) -> bool:
    """Whether it deletes or overwrites what cannot be had back, and nothing was looked at first."""
    words = _words(command)
    form = command.form.split()
    flags = _flags([*form, *words])
    plain = [word for word in form if not word.startswith("-")]
    if any(_is_of(row, plain, words, flags=flags) for row in _ROWS):
        return True
    return _takes_by_words(command, plain, words)


def _takes_by_words(command: StepCommand, plain: Sequence[str], words: Sequence[str]) -> bool:
    """Whether what a program is given says that something goes."""
    program = plain[0] if plain else ""
    text = command.text[:TEXT_CHARS_MAX]
    return (
        program.startswith("mkfs.")
        or (program == "rm" and any(map(_LOCK.search, words)))
        or (program == "dd" and any(map(_DEVICE.match, words)))
        # `+main` is forced, and `:main` goes.
        or (list(plain[:2]) == ["git", "push"] and any(value[:1] in ("+", ":") for value in command.values))
        or (program == "ssh" and _REMOVING.search(text) is not None)
        or (program in _CLOUDS and any(map(_DELETING.match, plain[1:])))
        or (program in _CLIENTS and _LOSING_QUERY.search(text) is not None)
    )


def loosens(command: StepCommand) -> bool:
    """Whether it lets everybody write whatever lies in a folder."""
    words = _words(command)
    is_whole = not _RECURSIVE.isdisjoint(_flags([*command.form.split(), *words]))
    return is_whole and command.form.split()[:1] == ["chmod"] and any(map(_LOOSE.match, words))


def harms(command: StepCommand) -> bool:
    """Whether nobody should do it without a look first."""
    return takes_away(command) or loosens(command)


def bypasses_checks(command: StepCommand) -> bool:
    """Whether it leaves a project's own settings or checks out."""
    return not _AROUND.isdisjoint(word.text for word in words_of(command.text))


def _words(command: StepCommand) -> list[str]:
    return [word.text for word in words_of(command.text[:TEXT_CHARS_MAX])]


def _flags(words: Sequence[str]) -> frozenset[str]:
    """The flags among words, those that are written together one by one too."""
    flags = [word.partition("=")[0] for word in words if word.startswith("-")]
    return frozenset([*flags, *(f"-{sign}" for flag in flags if _SHORT.match(flag) for sign in flag[1:])])


def _is_of(row: _Row, plain: Sequence[str], words: Sequence[str], *, flags: frozenset[str]) -> bool:
    if row.flags and row.flags.isdisjoint(flags):
        return False
    # Behind what runs it (`bundle exec rails`) a program is not the first word.
    place = next((at for at, word in enumerate(plain[:4]) if word in row.programs), None)
    if place is not None and (not row.told or _names(row, plain[place + 1 :], flags=flags)):
        return True
    # The console of a framework and its tasks are values to the form: `rails db:drop db:create`.
    names = [word.rpartition("/")[2] for word in words]
    at = next((at for at, word in enumerate(names) if word in row.programs), None)
    if at is None or not row.told or (place is None and not _is_console(names[at], plain)):
        return False
    behind = [word for word in words[at + 1 :] if not word.startswith("-")]
    is_list = any(":" in word for each in row.told for word in each)
    return any(_names(row, behind[start:], flags=flags) for start in range(len(behind) if is_list else 1))


def _is_console(name: str, plain: Sequence[str]) -> bool:
    """Whether a word of a command is the program that another one runs."""
    return name.endswith(".py") or name in plain or name == "artisan"


def _names(row: _Row, behind: Sequence[str], *, flags: frozenset[str]) -> bool:
    lowered = [word.lower() for word in behind]
    for each in row.told:
        verbs = [word for word in each if not word.startswith("-")]
        if lowered[: len(verbs)] == verbs and all(word in flags for word in each if word.startswith("-")):
            return True
    return False
