"""Every hint fits the surface through which it comes: over HTTP none names a command or an option."""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from runlore.api.responses import COMMANDS, document, hint_over_http
from runlore.api.routes import holds_hints
from runlore.cli.main import app
from runlore.domain.record import JsonValue
from runlore.ports.operations.declaration import OPERATIONS
from tests.architecture.source_tree import PACKAGE, python_files

pytestmark = pytest.mark.req("SUR-7")

# Where a daemon is set up, started or asked by a client: nothing of it comes over HTTP.
BEFORE_HTTP = (
    "cli",
    "client",
    "config",
    "storage/sqlite/files.py",
    "daemon/process/sockets.py",
    "daemon/skills/mounting.py",
)
# What is done on the machine of the daemon, by whoever looks after it, is told as it is done there.
ON_ITS_MACHINE = ("runlore learn", "runlore skill mount", "runlore connect")
# What reads or writes command lines and texts of others: its words are data.
TABLES = (
    *("agents", "domain/detectors", "domain/guard", "domain/prompts/injected.py", "domain/shell"),
    *("domain/skills/skill_keywords.py", "domain/statements", "domain/suggesting", "domain/suspicion"),
    *("domain/taint_sources", "daemon/mining"),
)
# `runlore rec_1` is a command that is put in, and translated when it is said.
WORDS = re.compile(
    r"--[a-z]|`(?:runlore|memory|skill|session|token|learning) (?!rec_1)|\brunlore (?!rec_1|daemon)[a-z]"
)


def sentences() -> Iterator[tuple[str, str]]:
    """Every text of the source that may be said to somebody, with where it stands: hints, remarks, findings,
    and what they are put together from. What is put into one reads as an id."""
    for file in python_files(PACKAGE):
        name = file.path.removeprefix(f"{PACKAGE}/")
        if name.startswith((*BEFORE_HTTP, *TABLES)):
            continue
        silent = {id(part) for node in file.nodes for part in unsaid(node)}
        for node in file.nodes:
            if id(node) not in silent and (text := said(node)):
                yield f"{name}:{getattr(node, 'lineno', 0)}", text


def unsaid(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and the parts of a text that is looked at as a whole."""
    if isinstance(node, ast.JoinedStr):
        yield from node.values
    elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (statement.value for statement in node.body if isinstance(statement, ast.Expr))


def said(node: ast.AST) -> str:
    """The text that an expression is."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "rec_1" for part in node.values)
    return ""


def test_nothing_that_is_said_over_http_names_a_command_or_an_option() -> None:
    found = list(sentences())
    assert len(found) > 5_000
    told = {where: hint_over_http(hint) for where, hint in found if not any(map(hint.count, ON_ITS_MACHINE))}

    assert {where: hint for where, hint in told.items() if WORDS.search(hint)} == {}
    # An option in quotes of its own is told as a field of a body, also behind a call that has none.
    assert {where: hint for where, hint in told.items() if re.search('`"[a-z]', hint)} == {}


def test_every_answer_that_holds_hints_tells_them_so() -> None:
    hinted = {name for name, operation in OPERATIONS.items() if holds_hints(operation.answer)}

    assert {"review_list", "rollback", "doctor"} <= hinted
    assert not hinted & {"get_record", "status", "list_runs"}
    obstacle: JsonValue = {"code": "x", "hint": "publish it with --supersedes rec_1"}
    whole = {"items": [{"metadata": obstacle, "outcome": {"obstacles": [obstacle]}}]}
    answer = json.loads(bytes(document(whole, has_hints=True).body))["items"][0]
    assert answer["outcome"]["obstacles"][0]["hint"] == 'publish it with "supersedes": "rec_1"'
    assert answer["metadata"] == obstacle, "what somebody wrote is theirs"


def test_every_command_that_a_hint_names_asks_for_its_operation() -> None:
    for words, operation in COMMANDS.items():
        command: Any = get_command(app)
        for word in words.split():
            command = command.commands[word]
        body = inspect.unwrap(command.callback)
        asked = inspect.getsource(body)
        is_it = "@asks(" in asked and body.__name__ == operation
        assert is_it or f"operations.{operation}" in asked, words


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("`runlore session list` shows the ids", "GET /v1/sessions shows the ids"),
        (
            "confirm it with --supersedes rec_1, or reject it",
            'confirm it with "supersedes": "rec_1", or reject it',
        ),
        ("say so with --accept-untrusted", 'say so with "accept_untrusted": true'),
        ("stop it: runlore session run cancel run_1", "stop it: POST /v1/runs/run_1/cancel"),
        ("`runlore skill list --state deleted` shows them", "GET /v1/skills?state=deleted shows them"),
        ("say so with --force --expected-revision 3", 'say so with "force": true, "expected_revision": 3'),
        ("or with --both-hold rec_1 where both hold", 'or with "both_hold": ["rec_1"] where both hold'),
        ("ask again with --yes", 'ask again with "confirm": true'),
        ("`runlore doctor --repair` rebuilds it", 'POST /v1/doctor with "repair": true rebuilds it'),
        ("`runlore skill rollout revoke it` ends it", "POST /v1/learning-skills/it/revoke ends it"),
        ("use another id, or leave it out", "use another id, or leave it out"),
    ],
)
def test_a_command_is_told_as_its_route_and_an_option_as_its_field(hint: str, told: str) -> None:
    assert hint_over_http(hint) == told
