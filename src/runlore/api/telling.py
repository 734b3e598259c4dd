"""What a route tells of itself in the OpenAPI document: what it answers, and with which problems."""

from typing import Any

from runlore.api.answering import JSON, PROBLEM_JSON
from runlore.api.shapes import Schema, ref

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
_TAG = {"ETag": {"description": "The revision, for If-Match.", "schema": {"type": "string"}}}
_LOCATION = {"Location": {"description": "Where it is found.", "schema": {"type": "string"}}}


def answers(name: str, *, tagged: bool = False) -> dict[str, Any]:
    """A route that answers a document; `tagged` with its revision."""
    told: dict[int | str, dict[str, Any]] = {200: _answer(ref(name), _TAG if tagged else {})}
    if tagged:
        told[304] = {"description": "It is still the revision of If-None-Match."}
    return {"responses": {**told, **problems()}}


def creates(
    name: str, *, tagged: bool = False, unstored: str | None = None, present: bool = False
) -> dict[str, Any]:
    """A route that makes something; `unstored` is its answer (200) where nothing is stored. With `present`
    200 answers with what waits already."""
    headers = {**_LOCATION, **(_TAG if tagged else {})}
    told: dict[int | str, dict[str, Any]] = {201: _answer(ref(name), headers, "It is made.")}
    if present:
        told[200] = _answer(ref(name), headers, "The same waits already: this is the one.")
    if unstored is not None:
        told[200] = _answer(ref(unstored), {}, "Nothing is stored of this session.")
    return {"status_code": 201, "responses": {**told, **problems()}}


def problems() -> dict[int | str, dict[str, Any]]:
    """The problems that any call can meet."""
    content = {PROBLEM_JSON: {"schema": ref("Problem")}}
    return {status: {"description": text, "content": content} for status, text in _PROBLEMS.items()}


def _answer(schema: Schema, headers: Schema, description: str = "The answer.") -> dict[str, Any]:
    told: dict[str, Any] = {"description": description, "content": {JSON: {"schema": schema}}}
    return {**told, "headers": headers} if headers else told
