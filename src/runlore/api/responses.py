"""How the API answers: JSON documents, problem documents, revisions as entity tags.

Hints fit whoever reads them: rules say what to do in the words of the command line, and a caller of the API
is told the route and the field instead. Our own client, by which the command line asks, is told the commands.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from runlore.api.errors import RETRY_AFTER_S, status_code_of
from runlore.daemon.answers import problem
from runlore.domain.errors import RunloreError
from runlore.domain.record import JsonValue
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
    "value": "value",
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


JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
# What is remembered is nobody's cache's business, and no browser shall guess what it is.
PRIVATE_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def document(
    plain: JsonValue,
    *,
    status: int = 200,
    revision: int | None = None,
    location: str | None = None,
    has_hints: bool = False,
) -> Response:
    """One JSON document, with its revision as the entity tag, and where a new thing is found."""
    headers = dict(PRIVATE_HEADERS)
    if revision is not None:
        headers["ETag"] = entity_tag(revision)
    if location is not None:
        headers["Location"] = location
    if has_hints:
        return _Hinted(plain, status, headers, JSON)
    return Response(encode_json(plain), status, headers, JSON)


def encode_json(plain: JsonValue) -> bytes:
    return orjson.dumps(plain, default=_plain)


def problem_answer(error: RunloreError, headers: Mapping[str, str] | None = None) -> Response:
    status = status_code_of(error)
    own = {**PRIVATE_HEADERS, **(headers or {})}
    if status == 401:
        own["WWW-Authenticate"] = 'Bearer realm="runlore"'
    elif status == 503:
        own["Retry-After"] = str(RETRY_AFTER_S)
    elif status == 408:
        # The rest of the request may still come, and would be taken for the next one.
        own["Connection"] = "close"
    told = {name: _sayable(value) for name, value in problem(error, status).items()}
    return _Hinted(told, status, own, PROBLEM_JSON)


class _Hinted(Response):
    """A document with hints, in the words of the surface that asks: our own client is the command line's."""

    def __init__(self, told: JsonValue, status: int, headers: Mapping[str, str], media_type: str) -> None:
        self._told = told
        super().__init__(encode_json(_over_http(told)), status, headers, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if dict(scope["headers"]).get(b"user-agent", b"").startswith(OWN_AGENT):
            self.body = encode_json(self._told)
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def _over_http(told: JsonValue) -> JsonValue:
    """The document with every hint of ours in routes and fields; what others wrote stays as it is."""
    if isinstance(told, Mapping):
        return {
            name: hint_over_http(value)
            if name in HINTS and isinstance(value, str)
            else value
            if name == "metadata"
            else _over_http(value)
            for name, value in told.items()
        }
    if isinstance(told, list | tuple):
        return [_over_http(each) for each in told]
    return told


def entity_tag(revision: int) -> str:
    return f'"{revision}"'


def place(*segments: str) -> str:
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no plain form")


def _sayable(value: JsonValue) -> JsonValue:
    """Text of a caller in an error may hold halves of surrogate pairs, which no document can."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
