"""The command line as a user has it: run on one state root and one database, and looked at from outside.

Commands run in this process, through the function that the installed `runlore` calls; `forked` runs them in a
process of their own, and `installed` runs that program itself.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import psycopg

from runlore.cli.main import run
from tests import forked
from tests.state_roots import lay_state_root
from tests.waiting import PATIENCE_S

PROGRAM = Path(sys.executable).with_name("runlore")
TIMEOUT_S = PATIENCE_S
# The store's own: the database with its log, the lock, and the room that it keeps for a full disk; and what
# the last list of a terminal showed.
STORE_FILES = ("runlore.db", "lock", "ballast", "last-list.json")

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a command left on the screen, and its exit code."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A refused command: its exit code and its problem document."""

    exit_code: int
    problem: Json

    @property
    def code(self) -> str:
        """The stable code."""
        return str(self.problem["code"])

    @property
    def said(self) -> str:
        """Everything that it says to a person."""
        return f"{self.problem['detail']} {self.problem['hint']}"


class Runlore:
    """One state root, on SQLite or on PostgreSQL."""

    def __init__(self, home: Path, database_url: str | None = None) -> None:
        self.home = home
        self.database_url = database_url

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name its state."""
        return {"RUNLORE_HOME": str(self.home), "RUNLORE_DATABASE_URL": self.database_url or ""}

    def run(self, *arguments: str, columns: int | None = None) -> Outcome:
        """One command in this process."""
        before = dict(os.environ)
        os.environ.update(self.environment)
        if columns is not None:
            os.environ["COLUMNS"] = str(columns)
        out, err = _stream(), _stream()
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = run(list(arguments))
        finally:
            os.environ.clear()
            os.environ.update(before)
        return Outcome(code=code, out=_read(out), err=_read(err))

    def forked(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> Outcome:
        """One command in a process of its own that has loaded everything already."""
        given = {**os.environ, **self.environment, **(environment or {})}
        done = forked.run("runlore", *arguments, env=given, stdin=stdin)
        return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)

    def serve(self, *arguments: str) -> Json:
        """Start a daemon in a process of its own: what it tells when it is ready. `down` ends it."""
        self._lay_root()
        ours, theirs = os.pipe()
        words = ("up", "--json", *(arguments or ("--port", "0")))
        try:
            forked.start("runlore", *words, env={**os.environ, **self.environment}, stdout=theirs, stderr=2)
        finally:
            os.close(theirs)
        with open(ours, encoding="utf-8") as told:
            return first_document(told)

    def installed(self, *arguments: str, **options: Any) -> Outcome:
        """One command by the installed program."""
        environment = {**os.environ, **self.environment, **options.pop("environment", {})}
        done = subprocess.run(
            [PROGRAM, *arguments],
            env=environment,
            capture_output=True,
            stdin=options.pop("stdin", subprocess.DEVNULL),
            timeout=TIMEOUT_S,
            check=False,
            **options,
        )
        return Outcome(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    def text(self, *arguments: str, columns: int | None = None) -> str:
        """What a command that succeeds shows to a person."""
        outcome = self.run(*arguments, columns=columns)
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return outcome.out

    def json(self, *arguments: str) -> Json:
        """The one document that a command prints with `--json`, and nothing else."""
        outcome = self.run(*arguments, "--json")
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return _document(outcome.out)

    def fails(self, *arguments: str) -> Failure:
        """A command that is refused: with `--json` the problem document on stderr, and an empty stdout."""
        outcome = self.run(*arguments, "--json")
        assert outcome.code != 0, outcome.out
        assert outcome.out == ""
        return Failure(exit_code=outcome.code, problem=_document(outcome.err))

    def items(self, *arguments: str) -> list[Json]:
        """The items of a list."""
        return list(self.json(*arguments)["items"])

    def propose(self, key: str, value: str, *more: str, reason: str = "they said so") -> str:
        """A profile candidate's id."""
        self._lay_root()
        proposal = ("--key", key, "--value", value, "--reason", reason)
        return str(self.json("memory", "profile", "propose", *proposal, *more)["record_id"])

    def confirm(self, record_id: str, *more: str) -> Json:
        """A confirmed record."""
        return self.json("memory", "review", "confirm", record_id, *more)

    def prefer(self, key: str, value: str, *more: str) -> str:
        """An active profile record's id."""
        return str(self.confirm(self.propose(key, value, *more))["record_id"])

    def find(self, summary: str, *more: str, repo_slug: str = "acme/atlas") -> str:
        """A radar finding's id: the way in for semantic candidates."""
        self._lay_root()
        source = ("--repo-slug", repo_slug, "--source-handle", "hn", "--source-url", "https://example.org/1")
        made = self.items("memory", "radar", "add", "--summary", summary, *source, *more)
        return str(made[1]["record_id"])

    def learn(self, summary: str, *more: str) -> str:
        """An active semantic record's id."""
        return str(self.confirm(self.find(summary, *more))["record_id"])

    def adopt(self, summary: str, workflow: str, *more: str) -> str:
        """An active procedure's id."""
        finding = self.learn(summary, *more)
        adopted = self.json("memory", "radar", "adopt", finding, "--workflow", workflow)
        return str(adopted["procedure"]["record_id"])

    def inspect(self, record_id: str, *more: str) -> Json:
        """One record."""
        return self.json("memory", "inspect", record_id, *more)

    def state(self, record_id: str) -> str:
        """One record's state, with its reason."""
        record = self.inspect(record_id)
        return f"{record['state']} {record['state_reason'] or ''}".strip()

    def contents(self) -> Json:
        """All that is stored, row by row, and every other file of the state root with its size."""
        files = {
            str(path.relative_to(self.home)): path.stat().st_size
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.name.startswith(STORE_FILES)
        }
        return {"tables": self._tables(), "files": files}

    def _lay_root(self) -> None:
        if not self.database_url and "RUNLORE_URL" not in self.environment:
            lay_state_root(self.home)

    def _tables(self) -> dict[str, list[str]]:
        if self.database_url:
            with psycopg.connect(self.database_url) as server:
                found = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
                names = [str(row[0]) for row in found]
                return {n: sorted(map(repr, server.execute(f"SELECT * FROM {n}".encode()))) for n in names}
        connection = apsw.Connection(str(self.home / "runlore.db"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            names = [
                str(n) for (n,) in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")
            ]
            return {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in names}
        finally:
            connection.close()


def first_document(stream: Iterable[str]) -> Json:
    """The one document at the beginning of a stream that stays open."""
    text = ""
    for line in stream:
        text += line
        if line == "}\n":
            return _document(text)
    raise AssertionError(f"no document: {text}")


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined, no-any-return]


def _document(text: str) -> Json:
    document = json.loads(text)
    assert isinstance(document, dict)
    return document
