"""Hints that fit whoever reads them: rules say what to do in the words of the command line, and a caller of
the API is told the route and the field instead.

Our own client, by which the command line asks a daemon, is told the commands.
"""

import re

from runlore.ports.operations.declaration import OPERATIONS

OWN_AGENT = b"runlore/"
# The fields of answers in which we say what to do.
HINTS = frozenset({"hint", "file_remark"})
# Each command that a hint names, and the operation that it asks for; a route takes what the command takes.
COMMANDS = {
    "approvals list": "list_approvals",
    "backup": "backup",
    "capture backfill": "backfill_capture",
    "capture resume": "resume_capture",
    "doctor": "doctor",
    "folder bind": "put_folder",
    "jobs retry": "retry_job",
    "jobs work": "work_jobs",
    "learning candidates get": "get_candidate",
    "memory export": "export",
    "memory history": "history",
    "memory inspect": "get_record",
    "memory list": "list_records",
    "memory radar add": "radar_add",
    "memory radar log": "radar_log",
    "memory radar undo": "radar_undo",
    "policy show": "get_policy",
    "session list": "list_sessions",
    "session persona list": "list_personas",
    "session run artifacts": "list_artifacts",
    "session run cancel": "cancel_run",
    "session runs": "list_runs",
    "session show": "get_session",
    "skill accept": "accept_skill",
    "skill curate": "curate_skills",
    "skill curations": "list_curations",
    "skill list": "list_skills",
    "skill restore": "restore_skill",
    "skill rollout revoke": "revoke_promoted",
    "skill rollout rollback": "rollback_promoted",
    "skill rollout status": "list_promoted",
    "skill rollout trial": "try_promoted",
    "skill settle": "settle_skill_file",
    "skill suggestions list": "list_suggestions",
    "skill suggestions show": "get_suggestion",
    "skill view": "get_skill",
    "token create": "create_token",
    "token list": "list_tokens",
    "token revoke": "revoke_token",
    "why": "receipt",
}
# These say yes; any other option has a value.
_YES = frozenset({"accept-untrusted", "apply", "dry-run", "force", "on-my-word", "repair", "yes"})
# A field that has another name than the option.
_FIELDS = {"yes": "confirm"}
_LISTS = frozenset({"both-hold"})
_NAMES = "|".join(sorted(map(re.escape, COMMANDS), key=len, reverse=True))
# A command with what it is given: in backticks up to the closing one, else the names in capitals or ids.
_COMMAND = re.compile(
    rf"`(?:runlore )?(?P<quoted>{_NAMES})(?P<given>[^`]*)`"
    rf"|\brunlore (?P<bare>{_NAMES})(?P<taken>(?: (?:--[a-z-]+|[A-Z]+\b|[a-z]+_[0-9a-z]+))*)"
)
_UNNAMED = r"--[a-z][a-z-]+(?: (?!or\b|and\b|to\b|--)[^\s,;`]+)?"
_OPTION = re.compile(r"--(?P<name>[a-z][a-z-]+)(?: (?P<value>(?!or\b|and\b|to\b|--)[^\s,;`]+))?")
# Options that stand beside each other become fields of one body.
_ROW = re.compile(rf"(?:{_UNNAMED} )+{_UNNAMED}")


def hint_over_http(hint: str) -> str:
    """The hint in routes and fields."""
    return _OPTION.sub(_field, _ROW.sub(_with_commas, _COMMAND.sub(_route, hint)))


def _with_commas(row: re.Match[str]) -> str:
    return _OPTION.sub(lambda option: f"{option[0]},", row[0]).removesuffix(",")


def _route(found: re.Match[str]) -> str:
    route = OPERATIONS[COMMANDS[found["quoted"] or found["bare"]]].routes[0].at
    given = (found["given"] or found["taken"] or "").strip()
    fields = [_field(option) for option in _OPTION.finditer(given)]
    for place, name in zip(re.findall(r"{[a-z_]+}", route), _OPTION.sub("", given).split(), strict=False):
        route = route.replace(place, name)
    if not fields:
        return route
    if route.startswith("GET "):
        # What is asked for stands in the address; a name in quotes is for a body.
        return f"{route}?{'&'.join(field.replace(chr(34), '').replace(': ', '=') for field in fields)}"
    return f"{route} with {', '.join(fields)}"


def _field(option: re.Match[str]) -> str:
    name = _FIELDS.get(option["name"], option["name"].replace("-", "_"))
    if option["name"] in _YES:
        told = option["value"]
        return f'"{name}": true' + (f" {told}" if told else "")
    if option["name"] in _LISTS and option["value"]:
        return f'"{name}": ["{option["value"]}"]'
    value = option["value"]
    if not value:
        return f'"{name}"'
    return f'"{name}": {value}' if value.isdigit() else f'"{name}": "{value}"'
