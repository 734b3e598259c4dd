"""The HTTP status of every error: one table. It loads no web framework, so others can read it too."""

from runlore.domain.errors import (
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    Refused,
    RunloreError,
    Unavailable,
)

STATUSES: tuple[tuple[type[RunloreError], int], ...] = (
    (Invalid, 422),
    (Refused, 422),
    (Denied, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Unavailable, 503),
    (Corrupt, 500),
    (RunloreError, 500),
)

# Codes of the surface itself whose status says more than that of their class.
PARTICULAR = {
    "request.json": 400,
    "request.chunks": 400,
    "request.header": 400,
    "request.http": 400,
    "request.path": 400,
    "request.too-slow": 408,
    "request.too-large": 413,
    "request.media-type": 415,
    "token.missing": 401,
    "token.unknown": 401,
    "token.expired": 401,
    "token.revoked": 401,
    "token.rotated": 401,
    "session.ended": 401,
    "session.code": 401,
    "method.denied": 405,
    "revision.stale": 412,
}
# What is raised for a revision that is no longer the one that the caller has seen.
STALE = frozenset(
    {
        *("record.revision", "policy.revision", "session.revision", "persona.revision", "run.revision"),
        "promoted.moved",
    }
)
RETRY_AFTER_S = 1
FIELDS_HINT = "GET /openapi.json tells what this call takes"


def status_code_of(error: RunloreError) -> int:
    particular = PARTICULAR.get(error.code)
    return particular or next(status for kind, status in STATUSES if isinstance(error, kind))


def unforeseen() -> RunloreError:
    """What a caller is told of a mistake of ours. The details go to the log, not over the wire."""
    return RunloreError(
        "Runlore itself failed",
        code="internal",
        hint="this is a mistake in Runlore; the daemon's log has the details, please report it with them",
    )


def method_denied(method: str, path: str, allowed: str) -> Denied:
    return Denied(
        f"{path[:200]} does not take {method[:20]}", code="method.denied", hint=f"it takes {allowed}"
    )


def no_such_path(path: str) -> NotFound:
    return NotFound(
        f"there is nothing at {path[:200]}",
        code="path.not-found",
        hint="GET /openapi.json lists every path",
    )


def bad_json(what: str) -> Invalid:
    return Invalid(f"the body is {what}", code="request.json", hint="send one JSON document in UTF-8")


def bad_field(name: str, problem: str) -> Invalid:
    return Invalid(
        f"{name[:200]} {problem[:300]}",
        code="request.field",
        hint=FIELDS_HINT,
    )


def too_large(limit_bytes: int) -> Invalid:
    return Invalid(
        f"the body is larger than {limit_bytes:,} bytes",
        code="request.too-large",
        hint="send it in several calls",
    )


def too_slow(pause_s: float, bytes_per_s_min: int) -> Invalid:
    return Invalid(
        f"the body came too slowly: it may pause for {pause_s:g} seconds in all,"
        f" and one more for each {bytes_per_s_min:,} bytes",
        code="request.too-slow",
        hint="send the whole body at once, and the call again",
    )


def head_too_slow(head_s: float) -> Invalid:
    return Invalid(
        f"the head of the request was not whole within {head_s:g} seconds",
        code="request.too-slow",
        hint="send the request line and all headers at once",
    )


def too_many_chunks(bytes_min: int) -> Invalid:
    return Invalid(
        f"the body comes in more chunks than it is worth: {bytes_min} bytes in each are expected",
        code="request.chunks",
        hint="send it with a Content-Length, or gather it into larger chunks",
    )


def not_http() -> Invalid:
    return Invalid(
        "what was sent is no request of HTTP/1.1",
        code="request.http",
        hint="send the request line, headers and a body of the length that they tell",
    )


def unsupported_media(media: str) -> Invalid:
    return Invalid(
        f"the body's type is {media[:100]!r}, which is not taken here",
        code="request.media-type",
        hint="send it with Content-Type: application/json",
    )
