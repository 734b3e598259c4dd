"""Writes the reference pages of docs/ from the code: moves, commands, error codes, settings, policies.

python -m scripts.reference_pages           write them
python -m scripts.reference_pages --check   say which are stale, and fail
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import typer.main
from typer._click.core import Command, Parameter
from typer.core import TyperArgument, TyperGroup

from runlore.api.errors import PARTICULAR, STATUSES
from runlore.cli.failures import EXIT_CODES
from runlore.cli.main import app
from runlore.config.file import config_schema
from runlore.config.providers import BUILT_IN, MODEL_VARIABLE
from runlore.config.settings import (
    CONFIG_NAME,
    DATABASE_VARIABLE,
    HOME_VARIABLE,
    HOST_VARIABLE,
    PORT_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
)
from runlore.domain import errors
from runlore.domain.agent.approval import APPROVAL
from runlore.domain.record import RECORD, TRANSITIONS, Kind, Layer
from runlore.domain.records.contracts import contract_fields
from runlore.domain.run import RUN
from runlore.domain.skill import SKILL
from runlore.domain.skills.rollout import ROLLOUT
from runlore.domain.suggestion import SUGGESTION
from scripts.api_page import api_page
from scripts.detectors_page import detectors_page
from scripts.events_page import events_page
from scripts.matching_page import matching_page
from scripts.metrics_page import metrics_page
from scripts.pipeline_page import pipeline_page
from scripts.policies_page import policies_page
from scripts.policy_page import policy_page
from scripts.policy_schema import learning_policy_schema, policy_schemas
from scripts.taint_page import taint_page

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
CONSOLE = ROOT / "src" / "runlore" / "console" / "static"
# Where a setting of the file can also be given: its environment variable, and its flag.
ELSEWHERE = {
    "database.url": (f"`{DATABASE_VARIABLE}`", "-"),
    "server.host": (f"`{HOST_VARIABLE}`", "`runlore up --host`"),
    "server.port": (f"`{PORT_VARIABLE}`", "`runlore up --port`"),
    "models.default": (f"`{MODEL_VARIABLE}`", "-"),
    "server.tcp": ("-", "`runlore up --no-tcp`"),
}
MACHINES = (RECORD, RUN, SUGGESTION, SKILL, ROLLOUT, APPROVAL)
# An obstacle is what a confirmation or a restoration raises as a conflict.
RAISED_AS = {
    "Damage": "Corrupt",
    "Obstacle": "Conflict",
    "ModelFailure": "Unavailable",
    "EmbeddingFailure": "Unavailable",
    "revision_conflict": "Conflict",
    "check_revision": "Conflict",
    "not_found": "NotFound",
    "read_bytes": "Invalid",
    "read_text": "Invalid",
}
GENERATED = "<!-- Written by `make docs`; change the code, not this page. -->\n"


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    return {
        REFERENCE / "records.md": records_page(),
        REFERENCE / "metrics.md": metrics_page(GENERATED),
        REFERENCE / "commands.md": commands_page(),
        REFERENCE / "errors.md": errors_page(),
        REFERENCE / "api.md": api_page(),
        ROOT / "docs" / "settings.md": settings_page(),
        ROOT / "docs" / "taint.md": taint_page(GENERATED),
        ROOT / "docs" / "detectors.md": detectors_page(GENERATED),
        ROOT / "docs" / "matching.md": matching_page(GENERATED),
        REFERENCE / "config.schema.json": json.dumps(config_schema(), indent=2) + "\n",
        ROOT / "docs" / "policy.md": policy_page(),
        ROOT / "docs" / "pipeline.md": pipeline_page(),
        ROOT / "docs" / "events.md": events_page(GENERATED),
        REFERENCE / "policies.md": policies_page(GENERATED),
        REFERENCE / "learning-policy.schema.json": json.dumps(learning_policy_schema(), indent=2) + "\n",
        CONSOLE / "policies.schema.json": json.dumps(policy_schemas()) + "\n",
    }


def records_page() -> str:
    """Layers, kinds, metadata contracts and the table of moves with its diagram."""
    lines = [
        "# Records",
        "",
        GENERATED,
        "## Layers and kinds",
        "",
        "| layer | kinds | metadata that it needs | optional |",
        "|---|---|---|---|",
    ]
    for layer in Layer:
        kinds = ", ".join(f"`{kind}`" for kind in Kind if kind.layer is layer)
        fields = contract_fields(layer)
        needed = ", ".join(f"`{name}`" for name, required in fields if required) or "nothing"
        optional = ", ".join(f"`{name}`" for name, required in fields if not required) or "-"
        lines.append(f"| `{layer}` | {kinds} | {needed} | {optional} |")
    extra = [name for name, _ in contract_fields(Layer.SEMANTIC, radar=True)]
    plain = [name for name, _ in contract_fields(Layer.SEMANTIC)]
    radar = ", ".join(f"`{name}`" for name in extra if name not in plain)
    lines += ["", f"A semantic record with `origin` `radar` also needs {radar}.", ""]
    lines += [
        "## Moves",
        "",
        "`runlore memory states` prints this table. Every other move is a conflict.",
        "",
    ]
    lines += ["| from | move | to | layers | guard |", "|---|---|---|---|---|"]
    for row in TRANSITIONS:
        end = f"`{row.end}` ({row.reason})" if row.reason else f"`{row.end}`"
        layers = "all" if row.layers == frozenset(Layer) else ", ".join(sorted(row.layers))
        lines.append(
            f"| {f'`{row.start}`' if row.start else '-'} | `{row.move}` | {end} | {layers} | {row.guard} |"
        )
    lines += ["", "```mermaid", "stateDiagram-v2"]
    lines += [f"    {row.start or '[*]'} --> {row.end}: {row.move}" for row in TRANSITIONS]
    return "\n".join([*lines, "```", ""])


def commands_page() -> str:
    """Every command with its arguments and options."""
    lines = ["# Commands", "", GENERATED]
    for path, command in _commands(typer.main.get_command(app), "runlore"):
        lines += [f"## `{path}`", "", inspect.cleandoc(command.help or ""), ""]
        lines += ["| argument or option | meaning | default |", "|---|---|---|"]
        lines += [_parameter_row(parameter) for parameter in command.params if not _is_help(parameter)]
        lines.append("")
    return "\n".join(lines)


def errors_page() -> str:
    """Every error code with its class, exit code and HTTP status."""
    lines = [
        "# Errors",
        "",
        GENERATED,
        "An error says what and why in a sentence, gives a hint, and carries a stable code. With `--json` it",
        "is the problem document (RFC 9457) on standard error.",
        "",
        "| class | meaning | exit code | HTTP status |",
        "|---|---|---|---|",
    ]
    statuses = dict(STATUSES)
    for kind, exit_code in EXIT_CODES:
        if kind is not errors.RunloreError:
            lines.append(f"| {kind.__name__} | {inspect.getdoc(kind)} | {exit_code} | {statuses[kind]} |")
    particular = ", ".join(f"`{code}` {status}" for code, status in sorted(PARTICULAR.items()))
    lines += ["", f"A few codes have an HTTP status of their own: {particular}."]
    lines += ["", "| code | class |", "|---|---|"]
    lines += [f"| `{code}` | {', '.join(sorted(names))} |" for code, names in sorted(error_codes().items())]
    return "\n".join([*lines, ""])


def settings_page() -> str:
    """Every setting: environment, flag and file."""
    lines = [
        "# Settings",
        "",
        GENERATED,
        "Flags win over environment variables, those over the file, the file over the defaults.",
        "",
        "| setting | environment | flag | meaning | default |",
        "|---|---|---|---|---|",
        f"| state root | `{HOME_VARIABLE}` | `--home` | The folder that holds everything; private (0700)."
        " | `~/.runlore` |",
        f"| another Runlore | `{URL_VARIABLE}` | `--url` | The address of a Runlore that commands call"
        " in place of the state root, such as https://runlore.example.org:7717. | none |",
        f"| its token | `{TOKEN_VARIABLE}` | `--token-file` | The token that such calls carry; the flag"
        " names a file, for others can read what a command is called with. | none |",
    ]
    lines += [
        f"| key of {provider.name} | `{provider.api_key_env}` | - | The key for {provider.base_url};"
        " keys are read from the environment alone. | none |"
        for provider in BUILT_IN
    ]
    schema = config_schema()
    for table, reference in _properties(schema):
        lines += _setting_rows(table, _definition(schema, reference), schema)
    lines += [
        "",
        f"The file is `{CONFIG_NAME}` in the state root; unknown keys are errors. Its JSON schema is",
    ]
    return "\n".join([*lines, "[config.schema.json](reference/config.schema.json).", ""])


def _setting_rows(table: str, definition: dict[str, object], schema: dict[str, object]) -> Iterator[str]:
    """A row for each setting of a table; a table of tables has those of one of them, as NAME."""
    for name, field in _properties(definition):
        inner = field.get("additionalProperties")
        if "$ref" in field:
            yield from _setting_rows(f"{table}.{name}", _definition(schema, field), schema)
            continue
        if isinstance(inner, dict) and "$ref" in inner:
            yield from _setting_rows(f"{table}.{name}.NAME", _definition(schema, inner), schema)
            continue
        variable, flag = ELSEWHERE.get(f"{table}.{name}", ("-", "-"))
        yield (
            f"| `[{table}] {name}` | {variable} | {flag} | {field['description']}"
            f" | {_default(field.get('default'))} |"
        )


def _definition(schema: dict[str, object], reference: dict[str, object]) -> dict[str, object]:
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    found = definitions[str(reference["$ref"]).rpartition("/")[2]]
    assert isinstance(found, dict)
    return found


@cache
def error_codes() -> dict[str, set[str]]:
    """The codes that the sources name, with the classes that carry them."""
    found = {machine.code: {"Conflict"} for machine in MACHINES}
    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if 'code="' not in source:
            continue
        tree = ast.parse(source)
        makers = {
            node.name: node.returns
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.returns
        }
        for call, code in _coded_calls(tree):
            name = ast.unparse(call.func).rpartition(".")[2]
            kind = ast.unparse(makers[name]) if name in makers else name
            found.setdefault(code, set()).add(RAISED_AS.get(kind, kind))
    return found


def _coded_calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if (
                keyword.arg == "code"
                and isinstance(keyword.value, ast.Constant)
                and isinstance(node, ast.Call)
            ):
                yield node, str(keyword.value.value)


def _commands(command: Command, path: str) -> Iterator[tuple[str, Command]]:
    if isinstance(command, TyperGroup):
        for name in sorted(command.commands):
            yield from _commands(command.commands[name], f"{path} {name}")
    elif not command.hidden:
        yield path, command


def _parameter_row(parameter: Parameter) -> str:
    meaning = str(getattr(parameter, "help", None) or "")
    if isinstance(parameter, TyperArgument):
        return f"| `{parameter.metavar or str(parameter.name).upper()}` | {meaning} | |"
    flag = getattr(parameter, "is_flag", False)
    default = "" if flag or parameter.default in (None, "", [], ()) else str(parameter.default)
    return f"| {', '.join(f'`{name}`' for name in _names(parameter))} | {meaning} | {default} |"


def _names(parameter: Parameter) -> list[str]:
    """What an option is called, and what its opposite is."""
    return [*parameter.opts, *parameter.secondary_opts]


def _default(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value else "empty"


def _is_help(parameter: Parameter) -> bool:
    return "--help" in parameter.opts


def _properties(schema: dict[str, object]) -> list[tuple[str, dict[str, object]]]:
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return list(properties.items())


def main() -> None:
    """Write or check the pages."""
    stale = [
        path
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)} (run `make docs`)")
        sys.exit(1 if stale else 0)
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
