"""Who is let in: hosts, origins, tokens, sizes. Whatever is refused has changed nothing."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runlore.config.server import ServerSettings
from runlore.config.settings import Settings
from runlore.domain import limits
from runlore.domain.access import Role
from tests.surfaces.api_client import Api, serving
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("OPS-5", "SUR-3")

PROPOSAL = {"key": "editor", "value": "helix", "reason": "they said so"}
PROPOSALS = "/v1/memory/profile-proposals"
FOREIGN_HOSTS = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:7717",
    "10.0.0.7",
    "[::2]",
    "",
]
FOREIGN_ORIGINS = [
    *(
        "null",
        "https://evil.example",
        "http://localhost:1",
        "https://localhost",
        "http://localhost.evil.example",
    ),
    *("file://", "http://127.0.0.1", "chrome-extension://abc"),
]


@pytest.fixture(scope="module")
def embedded_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One for all of these: whoever is refused leaves nothing behind."""
    with serving(Settings(state_root=str(tmp_path_factory.mktemp("gate") / "runlore"))) as made:
        yield made


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_the_probes_need_no_token(embedded_api: Api, path: str) -> None:
    answer = embedded_api.call("GET", path, headers={"Authorization": None})

    assert answer.status == 200


@pytest.mark.parametrize(
    "path", ["/v1/status", "/metrics", "/openapi.json", "/v1/nothing", "/memory/search?query=x", "/"]
)
def test_everything_else_needs_one(embedded_api: Api, path: str) -> None:
    answer = embedded_api.call("GET", path, headers={"Authorization": None})

    assert answer.problem == (401, "token.missing")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("Bearer wrong", "token.unknown"),
        ("Bearer " + "x" * 5_000, "token.unknown"),
        ("Bearer \xe9\xff", "token.unknown"),
        ("Bearer ", "token.missing"),
        ("Basic b3BlcmF0b3I6eA==", "token.missing"),
        ("", "token.missing"),
    ],
)
def test_a_wrong_token_is_refused_and_changes_nothing(embedded_api: Api, header: str, code: str) -> None:
    before = embedded_api.tables()

    answer = embedded_api.call("POST", PROPOSALS, PROPOSAL, headers={"Authorization": header})

    assert answer.problem == (401, code)
    assert embedded_api.tables() == before


def test_a_problem_never_repeats_the_secret(embedded_api: Api) -> None:
    answer = embedded_api.call("GET", "/v1/status", token="rlt_very-secret-thing")

    assert b"very-secret" not in answer.body


def test_two_tokens_in_one_call_are_no_token(embedded_api: Api) -> None:
    head = f"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {embedded_api.secret}\r\n"

    assert b" 400 " in raw(embedded_api, (head + "Authorization: Bearer other\r\n\r\n").encode())


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize("over_tcp", [True, False], ids=["tcp", "unix"])
def test_a_foreign_host_is_refused_even_with_a_good_token(
    embedded_api: Api, host: str, *, over_tcp: bool
) -> None:
    before = embedded_api.tables()

    answer = embedded_api.call("POST", PROPOSALS, PROPOSAL, headers={"Host": host}, over_tcp=over_tcp)

    # No browser reaches a unix socket, so there a name without a domain is as good as any.
    if over_tcp or "." in host:
        assert answer.problem == (403, "host.denied")
        assert embedded_api.tables() == before


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:7717", "[::1]:7717", "127.0.0.1:80"])
def test_a_local_host_is_let_in(embedded_api: Api, host: str) -> None:
    assert embedded_api.call("GET", "/v1/status", headers={"Host": host}, over_tcp=True).status == 200


def test_a_host_of_the_settings_is_let_in(clean_home: Path) -> None:
    server = ServerSettings(allowed_hosts=("Memory.Example",), allowed_origins=("https://console.example",))
    with serving(Settings(state_root=str(clean_home / "runlore")), server) as api:
        named = api.call("GET", "/v1/status", headers={"Host": "memory.example:443"}, over_tcp=True)
        other = api.call("GET", "/v1/status", headers={"Host": "other.example"}, over_tcp=True)
        from_page = api.call("GET", "/v1/status", headers={"Origin": "https://console.example"})

    assert (named.status, other.status, from_page.status) == (200, 403, 200)


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_page_of_another_site_is_refused(embedded_api: Api, origin: str) -> None:
    before = embedded_api.tables()

    answer = embedded_api.call("POST", PROPOSALS, PROPOSAL, headers={"Origin": origin}, over_tcp=True)

    assert answer.problem == (403, "origin.denied")
    assert embedded_api.tables() == before


def test_a_page_of_its_own_is_let_in(embedded_api: Api) -> None:
    host = f"127.0.0.1:{embedded_api.port}"
    headers = {"Host": host, "Origin": f"http://{host}"}

    assert embedded_api.call("GET", "/v1/status", headers=headers, over_tcp=True).status == 200


@pytest.mark.parametrize("over_tcp", [True, False], ids=["tcp", "unix"])
def test_a_body_of_50_megabytes_is_a_clear_problem(embedded_api: Api, *, over_tcp: bool) -> None:
    before = embedded_api.tables()
    body = json.dumps({**PROPOSAL, "value": "x" * 50_000_000}).encode()

    answer = embedded_api.call("POST", PROPOSALS, body, headers=as_json(), over_tcp=over_tcp)

    assert answer.problem == (413, "request.too-large")
    assert embedded_api.tables() == before


@pytest.mark.parametrize(
    "more", ["Content-Length: 1000000000000", "Content-Length: 50000000\r\nExpect: 100-continue"]
)
def test_a_body_that_would_be_too_large_is_not_waited_for(embedded_api: Api, more: str) -> None:
    head = f"POST {PROPOSALS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {embedded_api.secret}\r\n"

    assert b" 413 " in raw(embedded_api, f"{head}{more}\r\n\r\n".encode())


def test_a_large_body_that_does_not_tell_its_length_is_refused_on_the_way(embedded_api: Api) -> None:
    before = embedded_api.tables()

    def chunks() -> Iterator[bytes]:
        yield b'{"key": "editor", "reason": "r", "value": "'
        for _ in range(50):
            yield b"x" * 1_000_000
        yield b'"}'

    answer = embedded_api.call("POST", PROPOSALS, chunks(), headers=as_json())

    assert answer.problem == (413, "request.too-large")
    assert embedded_api.tables() == before


def test_a_body_just_below_the_limit_is_read(embedded_api: Api) -> None:
    value = "x, [{" * (limits.BODY_BYTES_MAX // 5 - 100)

    answer = embedded_api.call("POST", PROPOSALS, {**PROPOSAL, "value": value})

    assert answer.status == 422, "it is the profile's own rule that says no"


@pytest.mark.req("SEC-5")
def test_a_body_is_bounded_by_its_route(embedded_api: Api) -> None:
    """Only what takes whole runs, requests and artifacts takes so much."""
    value = "x" * limits.BODY_BYTES_MAX

    small = embedded_api.call("POST", PROPOSALS, {**PROPOSAL, "value": value})
    large = embedded_api.call("POST", "/v1/sessions/none/runs", {"request": value})

    assert small.problem == (413, "request.too-large")
    assert large.status in (404, 422)


@pytest.mark.req("SEC-5")
@pytest.mark.parametrize("path", [PROPOSALS, "/v1/transcripts/runs"])
def test_a_body_of_too_many_values_is_refused_before_anything_is_made_of_it(
    embedded_api: Api, path: str
) -> None:
    keys = b",".join(b'"k%d":0' % number for number in range(250_000))[: 14 * 1024**2]

    answer = embedded_api.call("POST", path, b"{" + keys + b"}", headers=as_json())

    assert answer.problem in ((400, "request.json"), (413, "request.too-large"), (422, "request.json"))


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b'{"key": "\xff"}',
        b'{"key": "\xed\xa0\x80"}',
        b'{"key": NaN}',
        b'{"key": "a"} {}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 200 + b"1" + b"}" * 200,
        b'{"findings": ' + b"[" * 80 + b"]" * 80 + b"}",
        b"\x00\x01",
    ],
    ids=[
        "open",
        "empty",
        "utf8",
        "surrogate",
        "nan",
        "two",
        "deep-open",
        "deep",
        "deep-objects",
        "nested",
        "bytes",
    ],
)
def test_a_body_that_is_no_json_is_a_clear_problem(embedded_api: Api, body: bytes) -> None:
    before = embedded_api.tables()

    answer = embedded_api.call("POST", PROPOSALS, body, headers=as_json())

    assert answer.problem in {(400, "request.json"), (422, "request.field")}
    assert (answer.status == 422) is (body == b"")
    assert embedded_api.tables() == before


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "application/xml", "json", None]
)
def test_a_body_of_another_type_is_refused(embedded_api: Api, media: str | None) -> None:
    before = embedded_api.tables()

    answer = embedded_api.call(
        "POST", PROPOSALS, json.dumps(PROPOSAL).encode(), headers={"Content-Type": media}
    )

    assert answer.problem == (415, "request.media-type")
    assert embedded_api.tables() == before


@pytest.mark.parametrize("media", ["application/json", "Application/JSON; charset=utf-8"])
def test_json_is_json_however_it_is_written(embedded_api: Api, media: str) -> None:
    answer = embedded_api.call(
        "POST", PROPOSALS, json.dumps(PROPOSAL).encode(), headers={"Content-Type": media}
    )

    assert answer.status in (200, 201), "the same proposal waits once"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/memory/records/x", "GET, HEAD"),
        ("POST", "/v1/memory/search", "GET, HEAD"),
        ("DELETE", "/v1/sessions/x", "GET, HEAD, PATCH"),
        ("POST", "/memory/records/x", "GET, HEAD"),
        ("OPTIONS", "/v1/tokens", "GET, HEAD, POST"),
        ("BREW", "/v1/policies/retention", "GET, HEAD, PUT"),
    ],
)
def test_a_wrong_method_tells_the_right_ones(embedded_api: Api, method: str, path: str, allowed: str) -> None:
    answer = embedded_api.call(method, path)

    assert answer.problem == (405, "method.denied")
    assert answer.headers["allow"] == allowed


def test_head_tells_of_an_answer_what_get_does_without_it(embedded_api: Api) -> None:
    for path in ("/readyz", "/v1/status", "/v1/memory/records", "/v1/nothing", "/v1/policies/skills"):
        asked, told = (embedded_api.call(method, path) for method in ("GET", "HEAD"))
        headers = [
            (answer.status, *map(answer.headers.get, ("etag", "content-type"))) for answer in (asked, told)
        ]
        assert headers[0] == headers[1], path
        assert told.body == b""
    tagged = {"If-None-Match": str(told.headers["etag"])}
    assert embedded_api.call("HEAD", "/v1/policies/skills", headers=tagged).status == 304
    assert embedded_api.call("HEAD", "/v1/runs/x/events").headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    "path", ["/v1", "/v2/status", "/v1/status/", "//v1/status", "/v1/memory/records/", "/docs", "/redoc"]
)
def test_a_path_that_names_nothing_is_told(embedded_api: Api, path: str) -> None:
    assert embedded_api.call("GET", path).problem == (404, "path.not-found")


def test_an_id_may_hold_any_character(embedded_api: Api) -> None:
    for name in ("../../../x", "a/b", "%2F", "..", "ä ö", "a?b#c", "\n", "a%00b"):
        answer = embedded_api.call("GET", f"/v1/memory/records/{quoted(name)}")
        assert answer.problem == (404, "record.not-found"), name


def test_a_path_that_is_no_utf8_is_told(embedded_api: Api) -> None:
    assert embedded_api.call("GET", "/v1/memory/records/%ff").problem == (400, "request.path")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"colour": "red"}, "request.field"),
        ({"limit": ["1", "2"]}, "request.field"),
        ({"limit": "many"}, "request.field"),
        ({"limit": "0"}, "limit.range"),
        ({"limit": "501"}, "limit.range"),
        ({"layer": "sediment"}, "request.field"),
        ({"scope": "galaxy:x"}, "scope.kind"),
        ({"as_of": "yesterday"}, "time.format"),
        ({"cursor": "?"}, "cursor.format"),
    ],
)
def test_a_wrong_query_is_told_by_its_name(embedded_api: Api, query: dict[str, Any], code: str) -> None:
    answer = embedded_api.call("GET", "/v1/memory/records", query=query)

    assert answer.problem == (422, code)


@pytest.mark.parametrize(
    "path", ["/v1/status", "/v1/memory/states", "/healthz", "/v1/sessions/x", "/openapi.json"]
)
def test_a_call_without_parameters_takes_none(embedded_api: Api, path: str) -> None:
    assert embedded_api.call("GET", path, query={"verbose": "1"}).problem == (422, "request.field")


@pytest.mark.parametrize(
    "body",
    [
        {**PROPOSAL, "origin": "daemon"},
        {**PROPOSAL, "confidence": "90"},
        {**PROPOSAL, "confidence": True},
        {**PROPOSAL, "key": None},
        {**PROPOSAL, "sensitivity": "secret"},
        {**PROPOSAL, "scope": {"kind": "project", "id": "x", "colour": "red"}},
        {"key": "editor"},
        [PROPOSAL],
        "text",
        7,
    ],
)
def test_a_wrong_body_is_told_by_its_field(embedded_api: Api, body: Any) -> None:
    before = embedded_api.tables()

    answer = embedded_api.call("POST", PROPOSALS, body)

    assert answer.problem == (422, "request.field")
    assert embedded_api.tables() == before


def test_a_revoked_token_is_useless_at_once(api: Api) -> None:
    secret = api.token("laptop", Role.READER)
    assert api.call("GET", "/v1/status", token=secret).status == 200
    assert api.call("GET", "/v1/status", token=secret).status == 200

    api.post("/v1/tokens/laptop/revoke")

    assert api.call("GET", "/v1/status", token=secret).problem == (401, "token.revoked")


def test_where_daemons_share_a_database_a_token_revoked_elsewhere_is_useless_at_once(
    clean_home: Path, postgres_database: str
) -> None:
    settings = [
        Settings(state_root=str(clean_home / name), database_url=postgres_database) for name in ("one", "two")
    ]
    with serving(settings[0]) as one, serving(settings[1]) as two:
        secret = one.token("laptop", Role.READER)
        assert two.call("GET", "/v1/status", token=secret).status == 200

        one.post("/v1/tokens/laptop/revoke")

        assert two.call("GET", "/v1/status", token=secret).problem == (401, "token.revoked")


def as_json() -> dict[str, str]:
    """The header of a JSON body."""
    return {"Content-Type": "application/json"}


def quoted(name: str) -> str:
    """Every character that is not a letter, written as its bytes."""
    return "".join(f"%{byte:02x}" for byte in name.encode())


def raw(api: Api, request: bytes) -> bytes:
    """The first bytes of the answer to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", api.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        return connection.recv(65_536)
