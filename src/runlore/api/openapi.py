"""The OpenAPI document, from the declarations of the operations and the types that they take and answer."""

import functools
from collections.abc import Sequence
from typing import Any

from runlore import __version__
from runlore.api.calls import KEY_CHARS_MAX, TAG_CHARS_MAX
from runlore.api.event_streams import EVENT_STREAM
from runlore.api.handlers import EXPORT_MEDIA, MARKDOWN, NDJSON
from runlore.api.responses import JSON, PROBLEM_JSON
from runlore.api.routes import Endpoint
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.serialization.codec import without_none
from runlore.ports import operations as ops
from runlore.ports.operations.declaration import Created, Operation, Route, about
from runlore.ports.operations.json_schemas import TEXT, Schema, Schemas

_ABOUT = (
    "Reviewed memory for AI agents. Every call beyond `/healthz` and `/readyz` needs a bearer token; errors"
    " are problem documents (RFC 9457) with a stable `code`; lists page with `limit` and their own"
    " `cursor`. HEAD is answered as GET is, streams apart."
)
_PROBLEMS = {
    400: "The request cannot be read.",
    401: "No token, or not a good one.",
    403: "Not allowed to this caller.",
    404: "The id names nothing.",
    408: "The body stopped coming.",
    409: "Somebody or something else moved.",
    412: "The revision of If-Match is not the present one.",
    413: "The body is too large.",
    415: "The body is not of a type that is taken here.",
    422: "A field is wrong, or a rule says no.",
    500: "Runlore itself failed, or stored data is damaged.",
    503: "Try later.",
}
_TAG = {"ETag": {"description": "The revision, for If-Match.", "schema": TEXT}}
_LOCATION = {"Location": {"description": "Where it is found.", "schema": TEXT}}
_KEY = (
    "The same call with the same key has one effect and one answer. Percent-encoded where it holds more than"
    " visible ASCII."
)
_REVISION = 'Act only on this revision, such as `"3"`; another one is 412.'
_STREAM = "Server-sent events, `end` as the last one. The schema is that of each of them."
_FREE = frozenset({"healthz", "readyz"})


def openapi_of(endpoints: Sequence[Endpoint]) -> Schema:
    return _Document(endpoints).whole


class _Document:
    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._schemas = Schemas("#/components/schemas/")
        self._schemas.components |= _DOCUMENTS
        for kind in (ops.RunEnded, ops.RunView):
            self._schemas.of_answer(kind)
        paths: Schema = {}
        for endpoint in endpoints:
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = self._call(endpoint)
        components = {
            "schemas": self._schemas.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        }
        self.whole: Schema = {
            "openapi": "3.1.0",
            "info": {"title": "Runlore", "description": _ABOUT, "version": __version__},
            "paths": paths,
            "components": components,
            "security": [{"token": []}],
        }

    def _call(self, endpoint: Endpoint) -> Schema:
        route, operation = endpoint.route, endpoint.operation
        told: Schema = {
            "tags": [route.area],
            "summary": route.name.replace("_", " ").title(),
            "description": route.text,
            "operationId": route.name,
        }
        if parameters := self._parameters(endpoint):
            told["parameters"] = parameters
        if operation.uploads:
            file = {"schema": {"type": "string", "format": "binary"}}
            told["requestBody"] = {"content": dict.fromkeys(EXPORT_MEDIA, file), "required": True}
        elif endpoint.reader.has_body:
            told["requestBody"] = self._body(endpoint)
        responses = self._responses(route, operation)
        told["responses"] = responses | {
            each: _problems()[each] for each in _problems() if each not in responses
        }
        if route.name in _FREE:
            told["security"] = []
        if route.deprecated:
            told["deprecated"] = True
        return told

    def _parameters(self, endpoint: Endpoint) -> list[Schema]:
        reader = endpoint.reader
        found = [_parameter(name, "path", TEXT, is_required=True) for name in endpoint.route.in_path]
        if not reader.has_body:
            for key, field in reader.keys.fields.items():
                schema = self._schemas.of_query(field.hint)
                text = schema.pop("description", "") if about(field.hint).text else ""
                if key == "state" and "status" not in reader.keys.fields:
                    text += " `status` is taken for it too."
                found.append(_parameter(key, "query", schema, text, is_required=field.is_required))
        if reader.takes_key:
            found.append(_parameter("idempotency-key", "header", {**TEXT, "maxLength": KEY_CHARS_MAX}, _KEY))
        if reader.takes_revision:
            found.append(_parameter("if-match", "header", {**TEXT, "maxLength": TAG_CHARS_MAX}, _REVISION))
        if endpoint.route.name == "follow_run":
            number = {"type": "integer", "minimum": 0, "maximum": limits.NUMBER_MAX}
            found.append(
                _parameter("last-event-id", "header", number, "Begin after this number of the journal.")
            )
        return found

    def _body(self, endpoint: Endpoint) -> Schema:
        reader = endpoint.reader
        schema = self._schemas.body_of([*reader.keys.fields.values()], "")
        del schema["description"]
        if endpoint.operation.name == "radar_add":
            finding = schema["properties"]["findings"]["items"]
            schema = {
                "anyOf": [schema, finding, {"type": "array", "items": finding}],
                "description": "One finding, a list of them, or findings with the scope that they are for.",
            }
        told: Schema = {"content": {JSON: {"schema": schema}}}
        return {**told, "required": True} if reader.needs_body else told

    def _responses(self, route: Route, operation: Operation) -> Schema:
        by_hand = _BY_HAND.get(route.name)
        if by_hand is not None:
            return dict(by_hand)
        if route.name == "list_skills":
            either = [self._schemas.of_answer(each) for each in (ops.SkillPage, ops.FittingSkills)]
            return {"200": _answer({"anyOf": either})}
        schema = self._schemas.of_answer(without_none(answers.answer_type(operation.name, operation.answer)))
        if route.name in _ALSO:
            told = _answer(schema)
            told["content"] |= {media: {"schema": TEXT} for media in _ALSO[route.name]}
            return {"200": told}
        headers = {**(_LOCATION if operation.location else {}), **(_TAG if operation.tagged else {})}
        if operation.created is None:
            told = {"200": _answer(schema, headers)}
            if operation.tagged and not operation.moves_on and route.method == "GET":
                told["304"] = {"description": "It is still the revision of If-None-Match."}
            return told
        told = {"201": _answer(schema, headers, "It is made.")}
        if operation.created is Created.IF_NEW:
            told["200"] = _answer(schema, headers, "The same waits already: this is the one.")
        if operation.created is Created.IF_STORED:
            told["200"] = _answer(self._unstored_schema(operation), {}, "Nothing is stored of this session.")
        return told

    def _unstored_schema(self, operation: Operation) -> Schema:
        is_optional = without_none(operation.answer) is not operation.answer
        return _ref("NotStored") if is_optional else self._schemas.of_answer(operation.answer)


def _parameter(name: str, place: str, schema: Schema, text: str = "", *, is_required: bool = False) -> Schema:
    told: Schema = {"name": name, "in": place, "required": is_required, "schema": schema}
    return {**told, "description": text} if text else told


def _answer(schema: Schema, headers: Schema | None = None, text: str = "The answer.") -> Schema:
    told: Schema = {"description": text, "content": {JSON: {"schema": schema}}}
    return {**told, "headers": headers} if headers else told


@functools.cache
def _problems() -> Schema:
    content = {PROBLEM_JSON: {"schema": _ref("Problem")}}
    return {str(status): {"description": text, "content": content} for status, text in _PROBLEMS.items()}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _thing(fields: Schema, text: str, *, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


_SAID = {"type": "object", "properties": {"text": TEXT}, "required": ["text"], "additionalProperties": False}
_TOLD = [kind.value for kind in ops.RunEventKind if kind is not ops.RunEventKind.BEAT]
# What no operation answers.
_DOCUMENTS: Schema = {
    "Alive": _thing({"status": {"const": "ok"}}, "The process answers."),
    "Readiness": _thing(
        {"ready": {"type": "boolean"}, "reasons": {"type": "array", "items": TEXT}},
        "Whether it can do its work.",
    ),
    "NotStored": _thing({"stored": {"const": False}}, "Nothing is stored of this session."),
    "Problem": _thing(
        {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": "integer"},
            "code": {**TEXT, "description": "Stable, for programs."},
            "detail": {**TEXT, "description": "What and why, in a sentence."},
            "hint": {**TEXT, "description": "What to do."},
        },
        "What went wrong (RFC 9457).",
    ),
    "RunEvent": _thing(
        {
            "event": {**TEXT, "enum": [*_TOLD, "error"]},
            "data": {**TEXT, "contentMediaType": JSON},
            "id": {**TEXT, "pattern": "^[0-9]+$", "description": "Of a `journal`: its number."},
            "retry": {"description": "How long to wait before coming back, in milliseconds."},
        },
        "One event of a run's stream; `RunEventData` tells what its data hold.",
        optional=("id", "retry"),
    ),
    "RunEventData": _thing(
        {
            "journal": {"type": "object", "description": "An event of the journal, as lists answer it."},
            "text": {**_SAID, "description": "A piece of the model's words; the whole comes as `journal`."},
            "output": _thing({"call_id": TEXT, "text": TEXT}, "A piece of what a command prints."),
            "approval": _ref("Approval"),
            "remark": {**_SAID, "description": "Something that a person should know."},
            "end": _ref("RunEnded"),
            "error": _ref("Problem"),
        },
        "The data of each event of a run's stream, by the event's name.",
    ),
}
_READINESS = _answer(_ref("Readiness"))
# What these answer besides, as `Accept` asks for it.
_ALSO = {"list_audit": (NDJSON, EVENT_STREAM), "inbox": (EVENT_STREAM,)}
_BY_HAND: dict[str, dict[str, Any]] = {
    "follow_run": {"200": {"description": _STREAM, "content": {EVENT_STREAM: {"schema": _ref("RunEvent")}}}},
    "get_skill_file": {
        "200": {"description": "The SKILL.md.", "content": {MARKDOWN: {"schema": TEXT}}, "headers": _TAG},
        "304": {"description": "It is still the revision of If-None-Match."},
    },
    "healthz": {"200": _answer(_ref("Alive"))},
    "readyz": {"200": _READINESS, "503": _READINESS},
    "metrics": {"200": {"description": "Prometheus's text format.", "content": {"text/plain": {}}}},
    "openapi": {"200": {"description": "This document.", "content": {JSON: {"schema": {"type": "object"}}}}},
}
