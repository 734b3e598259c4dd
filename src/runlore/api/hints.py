"""Hints that fit whoever reads them: rules say what to do in the words of the command line, and a caller of
the API is told the route and the field instead.

Our own client, by which the command line asks a daemon, is told the commands.
"""

import re

OWN_AGENT = b"runlore/"
# The fields of answers in which we say what to do.
HINTS = frozenset({"hint", "file_remark"})
# Each command that a hint names, and the call that does the same; a route takes what the command takes.
ROUTES = {
    "approvals list": "GET /v1/approvals",
    "backup": "POST /v1/backup",
    "capture backfill": "POST /v1/capture/backfill",
    "capture resume": "POST /v1/capture/resume",
    "doctor": "POST /v1/doctor",
    "jobs retry": "POST /v1/jobs/{job_id}/retry",
    "folder bind": "PUT /v1/folders/{folder_id}",
    "jobs work": "POST /v1/jobs/work",
    "learning candidates get": "GET /v1/learning-candidates/{record_id}",
    "memory export": "POST /v1/memory/export",
    "memory history": "GET /v1/memory/records/{record_id}/history",
    "memory inspect": "GET /v1/memory/records/{record_id}",
    "memory list": "GET /v1/memory/records",
    "memory radar add": "POST /v1/memory/radar",
    "memory radar log": "GET /v1/memory/radar/log",
    "memory radar undo": "POST /v1/memory/radar/{record_id}/undo",
    "policy show": "GET /v1/policies/{name}",
    "session list": "GET /v1/sessions",
    "session persona list": "GET /v1/personas",
    "session run artifacts": "GET /v1/runs/{run_id}/artifacts",
    "session run cancel": "POST /v1/runs/{run_id}/cancel",
    "session runs": "GET /v1/runs",
    "session show": "GET /v1/sessions/{session_id}",
    "skill accept": "POST /v1/skills/{name}/accept",
    "skill curate": "POST /v1/skills/curate",
    "skill curations": "GET /v1/skill-curations",
    "skill list": "GET /v1/skills",
    "skill restore": "POST /v1/skills/{name}/restore",
    "skill settle": "POST /v1/skills/{name}/settle",
    "skill rollout revoke": "POST /v1/learning-skills/{name}/revoke",
    "skill rollout status": "GET /v1/learning-skills",
    "skill rollout trial": "POST /v1/learning-skills/{name}/trial",
    "skill rollout": "POST /v1/learning-skills/{name}/{act}",
    "skill suggestions list": "GET /v1/skill-suggestions",
    "skill suggestions show": "GET /v1/skill-suggestions/{name}",
    "skill view": "GET /v1/skills/{name}",
    "token create": "POST /v1/tokens",
    "token list": "GET /v1/tokens",
    "token revoke": "POST /v1/tokens/{name}/revoke",
    "why": "GET /v1/runs/{run_id}/receipt",
}
# These say yes; any other option has a value.
_YES = frozenset({"accept-untrusted", "apply", "dry-run", "force", "on-my-word", "repair", "yes"})
# A field that has another name than the option.
_FIELDS = {"yes": "confirm"}
_LISTS = frozenset({"both-hold"})
_NAMES = "|".join(sorted(map(re.escape, ROUTES), key=len, reverse=True))
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
    route = ROUTES[found["quoted"] or found["bare"]]
    given = (found["given"] or found["taken"] or "").strip()
    fields = [_field(option) for option in _OPTION.finditer(given)]
    # Where a route takes two words, they come in this order.
    for place, name in zip(
        sorted(re.findall(r"{[a-z_]+}", route)), _OPTION.sub("", given).split(), strict=False
    ):
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
