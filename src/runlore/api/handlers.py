"""What a declaration cannot say: streams, uploads, runs that are waited for, files, probes, and two
operations at one path. Everything else is answered by `routes` alone."""

import asyncio
import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Annotated

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from runlore.api import errors
from runlore.api.calls import ApiCall
from runlore.api.event_streams import BEAT_S, EVENT_STREAM, EventsAnswer, StreamMessage, Watched
from runlore.api.metrics import CONTENT_TYPE
from runlore.api.responses import JSON, PRIVATE_HEADERS, document, encode_json, entity_tag
from runlore.api.routes import Endpoint, Handler, response_to
from runlore.daemon import answers
from runlore.daemon.operations import access
from runlore.daemon.operations.inbox import follow_inbox
from runlore.daemon.skills.file_text import render_skill
from runlore.domain import limits
from runlore.domain.errors import Denied, Invalid, Unavailable
from runlore.domain.json_form import About, JsonForm
from runlore.domain.record import JsonValue
from runlore.domain.session import SessionId
from runlore.domain.skill import SkillOrigin, SkillState
from runlore.domain.timestamps import format_time, parse_time
from runlore.ports import operations as ops
from runlore.ports.operations.declaration import EVERYBODY, OPERATIONS, Operation
from runlore.ports.operations.paging import paginate

MARKDOWN = "text/markdown"
NDJSON = "application/x-ndjson"
EXPORT_MEDIA = ("application/json", NDJSON, "application/octet-stream")
# How often it is looked whether a run has ended: soon at first, then less and less.
_LOOK_S_MIN, _LOOK_S_MAX = 0.02, 0.5
_SLOWER = 1.5


async def start_input(call: ApiCall, request: ops.NewInput) -> Response:
    """Begin a run; whoever waits for it is answered when it has ended."""
    asked = dataclasses.replace(request, wait=False)
    view = await run_in_threadpool(call.operations.start_input, asked)
    return response_to(
        OPERATIONS["start_input"], call, await wait_for_end(call, view) if request.wait else view
    )


async def try_promoted(call: ApiCall, request: ops.TrialRequest) -> Response:
    """The same for the run of a promoted skill."""
    asked = dataclasses.replace(request, wait=False)
    view = await run_in_threadpool(call.operations.try_promoted, asked)
    return response_to(
        OPERATIONS["try_promoted"], call, await wait_for_end(call, view) if request.wait else view
    )


async def follow_run(call: ApiCall, request: ops.FollowRun) -> Response:
    """What happens in a run, as a stream."""
    number = call.request.headers.get("last-event-id")
    after = request.after if number is None else _last_number(number)
    asked = dataclasses.replace(request, after=after, beat_s=BEAT_S)
    return await _stream(call, lambda: call.operations.follow_run(asked))


async def _stream(call: ApiCall, events: Callable[[], Iterator[StreamMessage]]) -> Response:
    scope = call.request.scope
    watched = Watched(is_stopping=call.service.health.is_stopping, recheck=scope["runlore.recheck"])
    return EventsAnswer(await scope["runlore.app"].streams.open(events, watched))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Message:
    """Something that is streamed. The number of an act is its time, a little before which whoever comes back
    begins."""

    kind: str = ops.RunEventKind.BEAT
    data: JsonValue = None
    number: str | int = 0


async def list_audit(call: ApiCall, request: ops.AuditRequest) -> Response:
    """A page of the audit feed; by `Accept` all of it, or what is done from now on."""
    accepted, ask = call.request.headers.get("accept", ""), call.operations.list_audit
    if EVENT_STREAM in accepted:
        last, now = call.request.headers.get("last-event-id"), call.service.parts.clock.now()
        late = timedelta(seconds=limits.AUDIT_LATE_S)
        since = parse_time(last) - late if last is not None else request.since or now
        asked = dataclasses.replace(request, since=since)
        return await _stream(call, lambda: _tell_audit(ask, asked))
    if NDJSON in accepted:
        asked = dataclasses.replace(request, limit=limits.LIST_LIMIT_MAX)
        lines = (encode_json(answers.write(event)) + b"\n" for event in paginate(ask, asked))
        return StreamingResponse(lines, headers=PRIVATE_HEADERS, media_type=NDJSON)
    page = await run_in_threadpool(ask, request)
    return response_to(OPERATIONS["list_audit"], call, page)


def _tell_audit(
    ask: Callable[[ops.AuditRequest], ops.AuditPage], request: ops.AuditRequest
) -> Iterator[Message]:
    for event in access.follow_audit(ask, request, beat_s=BEAT_S):
        if event is None:
            yield Message()
        else:
            yield Message(kind=event.kind, data=answers.write(event), number=format_time(event.at))


async def inbox(call: ApiCall, request: ops.InboxRequest) -> Response:
    """A page of what waits; by `Accept` how much waits, now and whenever that changes."""
    if EVENT_STREAM in call.request.headers.get("accept", ""):
        return await _stream(call, lambda: _tell_counts(call))
    page = await run_in_threadpool(call.operations.inbox, request)
    return response_to(OPERATIONS["inbox"], call, page)


def _tell_counts(call: ApiCall) -> Iterator[Message]:
    for counts in follow_inbox(call.service.parts, call.caller, beat_s=BEAT_S):
        told = {str(kind): count for kind, count in (counts or {}).items()}
        yield Message(kind="counts", data=told) if told else Message()


def _last_number(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 20 else -1
    if not 0 <= number <= limits.NUMBER_MAX:
        raise errors.bad_field(
            "last-event-id", f"is wrong: a number from 0 to {limits.NUMBER_MAX} is expected"
        )
    return number


async def import_records(call: ApiCall) -> Response:
    """Take a file in, and read it."""
    media = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in EXPORT_MEDIA:
        raise errors.unsupported_media(media)
    handle, path = tempfile.mkstemp(prefix="import-", dir=call.service.incoming)
    try:
        with os.fdopen(handle, "wb") as file:
            async for chunk in call.request.stream():
                await run_in_threadpool(file.write, chunk)
        answer = await run_in_threadpool(call.operations.import_records, path)
    finally:
        os.unlink(path)
    return response_to(OPERATIONS["import_records"], call, answer)


def backup(call: ApiCall, path: str | None = None) -> Response:
    """Write a backup, to a path only for whoever is on this machine."""
    if path is not None and not call.request.scope["runlore.over_unix"]:
        raise Denied(
            "where a backup lies on the daemon's machine cannot be chosen from afar",
            code="backup.path",
            hint="leave path out: the answer says where the backup lies",
        )
    return response_to(OPERATIONS["backup"], call, call.operations.backup(path))


def create_token(call: ApiCall, request: ops.NewToken) -> Response:
    """Make a token; from now on it is known."""
    made = call.operations.create_token(request)
    call.service.tokens.invalidate()
    return response_to(OPERATIONS["create_token"], call, made)


def rotate_token(call: ApiCall, request: ops.TokenRotation) -> Response:
    """Give a token a new secret; from now on the old one ends when it shall."""
    try:
        made = call.operations.rotate_token(request)
    finally:
        call.service.tokens.invalidate()
    return response_to(OPERATIONS["rotate_token"], call, made)


def revoke_token(call: ApiCall, name: str) -> Response:
    """Revoke a token; from now on it is unknown."""
    try:
        token = call.operations.revoke_token(name)
    finally:
        call.service.tokens.invalidate()
    return response_to(OPERATIONS["revoke_token"], call, token)


@JsonForm(rename={"states": "state", "origins": "origin"})
@dataclasses.dataclass(frozen=True, kw_only=True)
class SkillsQuery:
    """A page of skills, or with a `query` those that fit a turn."""

    query: Annotated[
        str | None,
        About(
            "What a turn asks for: the skills that fit it, the best first, with the reasons.",
            most=limits.QUERY_CHARS_MAX,
        ),
    ] = None
    session_id: Annotated[
        SessionId | None,
        About("With `query`: only what this session may use. An agent always names its own."),
    ] = None
    states: Annotated[
        frozenset[SkillState],
        About("Without `query`: only this state; active where none is named. Repeatable."),
    ] = frozenset()
    origins: Annotated[
        frozenset[SkillOrigin], About("Without `query`: only those that were made so. Repeatable.")
    ] = frozenset()
    limit: Annotated[
        int | None,
        About(
            f"How many at most; {limits.LIST_LIMIT_DEFAULT} of a list, and as many as the policy gives a"
            " prompt of those that fit.",
            least=1,
            most=limits.LIST_LIMIT_MAX,
        ),
    ] = None
    cursor: Annotated[str | None, About("Without `query`: go on after the page that gave this cursor.")] = (
        None
    )


def list_skills(call: ApiCall, request: SkillsQuery) -> Response:
    """Skills by name; with `query` those that fit a turn, the best first."""
    if request.query is not None:
        if request.states or request.origins or request.cursor is not None:
            hint = "leave out state, origin and cursor"
            raise _mixed_error("query", "goes with `session_id` and `limit` alone", hint)
        asked = ops.MatchRequest(query=request.query, session_id=request.session_id, limit=request.limit)
        return response_to(OPERATIONS["match_skills"], call, call.operations.match_skills(asked))
    if request.session_id is not None:
        raise _mixed_error("session_id", "goes with `query`", "GET /v1/sessions/{id}/skills lists them")
    listing = ops.SkillsRequest(
        states=request.states,
        origins=request.origins,
        limit=limits.LIST_LIMIT_DEFAULT if request.limit is None else request.limit,
        cursor=request.cursor,
    )
    return response_to(OPERATIONS["list_skills"], call, call.operations.list_skills(listing))


def _mixed_error(field: str, problem: str, hint: str) -> Invalid:
    return Invalid(f"the query parameter {field!r} {problem}", code="request.field", hint=hint)


def get_skill_file(call: ApiCall, name: str) -> Response:
    """The SKILL.md of a skill, as agents read it."""
    skill = call.operations.get_skill(name)
    headers = {**PRIVATE_HEADERS, "ETag": entity_tag(skill.revision)}
    if entity_tag(skill.revision) in call.request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(render_skill(skill).encode(), headers=headers, media_type=MARKDOWN)


async def healthz(call: ApiCall) -> Response:  # noqa: ARG001
    """Whether the process answers. It needs no token."""
    return document({"status": "ok"})


async def readyz(call: ApiCall) -> Response:
    """Whether the boot is done and the store accepts writes; if not, why. It needs no token."""
    health = call.service.health
    # Most probes wait for no thread, however busy the others are.
    reasons = health.recent_reasons()
    if reasons is None:
        reasons = await run_in_threadpool(health.reasons)
    if reasons:
        call.request.scope["runlore.problem"] = "not-ready"
    return document({"ready": not reasons, "reasons": list(reasons)}, status=503 if reasons else 200)


def metrics(call: ApiCall) -> Response:
    """Metrics for Prometheus."""
    text = call.request.scope["runlore.app"].metrics.text()
    return Response(text, headers=PRIVATE_HEADERS, media_type=CONTENT_TYPE)


def openapi(call: ApiCall) -> Response:
    """What this API takes and answers."""
    return Response(call.request.scope["runlore.app"].openapi, headers=PRIVATE_HEADERS, media_type=JSON)


_BY_HAND = (
    *(start_input, try_promoted, follow_run, import_records, backup, list_audit, inbox),
    *(create_token, rotate_token, revoke_token),
)
# Beside the operations: the handler, its path, and the operation whose roles it is for. With a query skills
# are matched, which every role may; the list alone checks its own role.
BESIDE: list[tuple[Handler, str, str | None, str]] = [
    (list_skills, "GET /v1/skills", "match_skills", "skills"),
    (get_skill_file, "GET /v1/skills/{name}/file", "get_skill", "skills"),
    (healthz, "GET /healthz", None, "probes"),
    (readyz, "GET /readyz", None, "probes"),
    (metrics, "GET /metrics", "status", "probes"),
    (openapi, "GET /openapi.json", None, "probes"),
]


def endpoints() -> Iterator[Endpoint]:
    """Every route of the API."""
    by_hand: dict[str, Handler] = {handler.__name__: handler for handler in _BY_HAND}
    for handler, at, role_of, area in BESIDE:
        operation = Operation(at, EVERYBODY, area=area, method=handler)
        yield Endpoint(operation=operation, route=operation.routes[0], role_of=role_of, handler=handler)
    for operation in OPERATIONS.values():
        if operation.name not in ("list_skills", "match_skills"):
            for route in operation.routes:
                made = by_hand.get(operation.name)
                yield Endpoint(operation=operation, route=route, role_of=operation.name, handler=made)


async def wait_for_end(call: ApiCall, view: ops.RunView) -> ops.RunView:
    """The run when it has ended and its memory is there, or as it is where nobody waits for it any more."""
    pause_s = _LOOK_S_MIN
    agent = call.service.parts.agent
    while not view.run.is_terminal or agent.is_working(view.run.run_id):
        # Asked before the run is looked at: it is ended before the daemon says that it stops.
        is_stopping = call.service.health.is_stopping()
        if not is_stopping:
            await asyncio.sleep(pause_s)
            if await call.request.is_disconnected():
                break
        pause_s = min(pause_s * _SLOWER, _LOOK_S_MAX)
        view = await run_in_threadpool(call.operations.get_run, view.run.run_id)
        if is_stopping and not view.run.is_terminal:
            raise Unavailable(
                f"the daemon stops before run {view.run.run_id} has ended",
                code="daemon.stopping",
                hint="the run is interrupted with it; look at it once the daemon is back",
            )
    return view
