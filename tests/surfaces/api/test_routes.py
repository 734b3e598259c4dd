"""Every operation over HTTP: the same documents as from inside, and the headers that programs rely on."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from runlore.api.app import all_endpoints
from runlore.api.openapi import openapi_of
from runlore.daemon import answers
from runlore.domain.access import Role
from runlore.domain.policies.policy import PolicyName
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.architecture.source_tree import PACKAGE, python_files
from tests.surfaces.api_client import Api, Json, path_of
from tests.surfaces.api_filled import FINDING, Filled, readings

# An operation that HTTP has no route for, and why.
WITHOUT_ROUTE = {
    "restore_backup": "a daemon's store holds its operator's token, so it is never the empty one it needs",
}
# Their documents tell of the process itself, or are no JSON, and are looked at by tests of their own.
ELSEWHERE = {
    *("/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/status", "/v1/skills/none/file"),
    "/v1/runs/none/events",
    *("/v1/audit", "/v1/folders/none", "/v1/reading"),
}
API_FILES = [file for file in python_files(PACKAGE) if file.is_in(f"{PACKAGE}/api")]


@pytest.mark.req("SUR-1")
def test_every_operation_has_a_route_or_a_written_reason() -> None:
    operations = {
        name for name, _ in inspect.getmembers(ops.Operations, inspect.isfunction) if name[0] != "_"
    }
    # Matching skills is a list of skills with a query.
    routed = {endpoint.role_of for endpoint in all_endpoints()} | {"list_skills"}

    assert operations - routed == set(WITHOUT_ROUTE)
    assert routed - {None} <= operations


@pytest.mark.req("SUR-1")
def test_routes_decide_nothing() -> None:
    """What a route may know of the domain: values and their text, and the errors of its own surface."""
    rules = {
        "visibility",
        "publication",
        "curation",
        "lifecycle",
        "guard",
        "admission",
        "redaction",
        "ranking",
    }
    for file in API_FILES:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("runlore."):
                parts = set(str(node.module).split("."))
                names = {alias.name for alias in node.names}
                allowed = names <= {"Hidden", "Basis"}
                assert allowed or not parts & rules, f"{file.path} imports {node.module}"
                assert not parts & {"flow", "storage", "recall", "config"}, (
                    f"{file.path} imports {node.module}"
                )


@pytest.mark.req("SUR-3")
def test_every_route_tells_what_it_takes_and_answers() -> None:
    schema = openapi_of(all_endpoints())
    schemas = schema["components"]["schemas"]
    operations = [
        (path, method, told) for path, methods in schema["paths"].items() for method, told in methods.items()
    ]

    assert len({told["operationId"] for _, _, told in operations}) == len(operations)
    for path, _, told in operations:
        assert told["description"], path
        for status, answer in told["responses"].items():
            assert answer["description"], path
            for media, content in answer.get("content", {}).items():
                reference = content.get("schema", {}).get("$ref", "")
                assert media == "text/plain" or not reference or reference.rpartition("/")[2] in schemas
                assert int(status) < 400 or "problem+json" in media or path == "/readyz"
    bodies = [told["requestBody"]["content"] for _, _, told in operations if "requestBody" in told]
    closed = [each["application/json"]["schema"] for each in bodies]
    closed += [body for name, body in schemas.items() if name.endswith("Body") and name != "FindingBody"]
    for body in closed:
        assert body.get("format") == "binary" or body.get("anyOf", [body])[0]["additionalProperties"] is False


@pytest.mark.req("LAY-7")
def test_the_old_paths_only_read() -> None:
    methods = {endpoint.method for endpoint in all_endpoints() if endpoint.path.startswith("/memory")}

    assert methods == {"GET"}


@pytest.fixture
def filled(api: Api) -> Filled:
    """Something of everything, on either database."""
    return Filled(api)


@pytest.mark.req("SUR-2", "SUR-3")
def test_status_is_taken_for_state_wherever_a_list_narrows_by_it(filled: Filled) -> None:
    schema, narrowed = filled.api.get("/openapi.json"), []
    for path, methods in schema["paths"].items():
        named = {each["name"]: each for each in methods.get("get", {}).get("parameters", [])}
        if "state" not in named:
            continue
        states = named["state"]["schema"]["items"]["$ref"].rpartition("/")[2]
        query = {"query": "editor"} if named.get("query", {}).get("required") else {}
        for state in schema["components"]["schemas"][states]["enum"]:
            assert filled.api.get(path, **query, status=state) == filled.api.get(path, **query, state=state)
        for word in ("status", "state"):
            refused = filled.api.call("GET", path, query={**query, word: "nothing"})
            assert refused.problem == (422, "request.field")
            assert refused.json["detail"].startswith(f"{word} is wrong: it is one of "), path
        narrowed.append(path)

    assert {"/memory/search", "/v1/memory/search", "/v1/memory/records", "/v1/learnings"} <= set(narrowed)
    found = filled.api.get("/memory/search", query="editor", status="superseded", layer="profile")
    assert all(item["record"]["state"] == "superseded" for item in found["items"])
    wrong = {"scope": "workspace", "kind": "fact", "summary": 1}
    refused = filled.api.call("POST", "/v1/learning-candidates", wrong)
    assert refused.json["detail"] == "summary is wrong: a text is expected"


@pytest.mark.req("SUR-1", "SUR-3")
def test_every_reading_call_answers_what_the_operation_answers_and_changes_nothing(filled: Filled) -> None:
    cases = list(readings(filled))
    before = filled.api.tables()

    for path, query, document in cases:
        assert filled.api.get(path, **query) == document, path
    preview = filled.api.post(filled.at("inputs", "preview"), {"text": "Which editor?", "model": "gpt-4o"})
    request = ops.PreviewRequest(session_id=SessionId(filled.session), text="Which editor?", model="gpt-4o")
    assert preview == answers.write(filled.api.operations.preview_input(request))
    trial: Json = {"policy": {"mode": "enabled", "publication": {"default_action": "reject"}}, "limit": 5}
    tried = filled.api.post("/v1/policies/learning/test", trial)
    asked = ops.PolicyTrial(name=PolicyName.LEARNING, policy=trial["policy"], limit=5)
    assert tried == answers.write(filled.api.operations.test_policy(asked))
    backfill = filled.api.post("/v1/capture/backfill", {"dry_run": True})
    assert backfill == {"dry_run": True, "runs": [filled.run], "more": False, "beyond_retention": 2}
    deletion = filled.api.post("/v1/capture/delete-memories", {"dry_run": True})
    assert deletion == {"dry_run": True, "memories": 1, "sessions": 1, "more": False}
    matching = filled.api.post("/v1/learnings/revoke-matching", {"kind": "fact", "dry_run": True})
    assert [record["record_id"] for record in matching["items"]] == [filled.learning]
    for path in ("/v1/status", "/metrics", "/openapi.json", "/healthz", "/readyz"):
        assert filled.api.call("GET", path).status == 200
    assert filled.api.call("POST", "/v1/doctor", {"repair": False}).status == 200
    for path in (
        f"/v1/memory/records/{filled.preference}/forget",
        path_of("v1", "memory", "records", "s/1", "forget"),
    ):
        assert filled.api.call("POST", path, {"dry_run": True}).status == 200

    assert filled.api.tables() == before


@pytest.mark.req("SUR-1")
def test_no_reading_call_is_left_out_above(filled: Filled) -> None:
    called = {path for path, _, _ in readings(filled)} | ELSEWHERE

    for endpoint in all_endpoints():
        path = re.compile(re.sub(r"{\w+}", "[^/]+", endpoint.path))
        assert endpoint.method != "GET" or any(map(path.fullmatch, called)), endpoint.path


@pytest.mark.req("SUR-3", "OPS-1")
def test_the_status_is_the_operations_own(filled: Filled) -> None:
    told = filled.api.get("/v1/status")

    inside = answers.write(filled.api.operations.status())
    assert told.keys() == inside.keys()
    assert told["records"] == inside["records"]
    assert told["run_memory"] == inside["run_memory"]
    assert told["run_memory"]["metrics"]["stored_total"] == 1


@pytest.mark.req("SUR-3", "REC-10")
def test_a_revision_travels_as_the_entity_tag(filled: Filled) -> None:
    path = f"/v1/memory/records/{filled.waiting}"
    tag = filled.api.call("GET", path).headers["etag"]
    known = filled.api.call("GET", path, headers={"If-None-Match": tag})
    confirm = f"/v1/review/{filled.waiting}/confirm"

    stale = filled.api.call("POST", confirm, headers={"If-Match": '"7"'})
    in_the_body = filled.api.call("POST", confirm, {"expected_revision": 7})
    both = filled.api.call("POST", confirm, {"expected_revision": 1}, headers={"If-Match": '"7"'})
    odd = filled.api.call("POST", confirm, headers={"If-Match": "seven"})
    present = filled.api.call("POST", confirm, headers={"If-Match": tag})
    after = filled.api.call("GET", path, headers={"If-None-Match": tag})

    assert (known.status, known.body, known.headers["etag"]) == (304, b"", tag)
    assert stale.problem == (412, "revision.stale")
    assert in_the_body.problem == (409, "record.revision")
    assert both.problem == odd.problem == (400, "request.header")
    assert (present.status, present.json["state"], present.headers["etag"]) == (200, "active", '"2"')
    assert (after.status, after.json["revision"]) == (200, 2)


@pytest.mark.req("SUR-3")
@pytest.mark.parametrize(
    ("path", "change", "another"),
    [
        ("/v1/personas/ada", {"name": "Lovelace"}, {"name": "Byron"}),
        ("/v1/policies/retention", {"policy": {"logs_kept": 3}}, {"policy": {"logs_kept": 4}}),
    ],
)
def test_what_is_put_on_a_stale_revision_is_refused(
    filled: Filled, path: str, change: Json, another: Json
) -> None:
    tag = filled.api.call("GET", path).headers["etag"]
    first = filled.api.call("PUT", path, change, headers={"If-Match": tag})
    before = filled.api.tables()

    late = filled.api.call("PUT", path, another, headers={"If-Match": tag})

    assert (first.status, late.problem) == (200, (412, "revision.stale"))
    assert filled.api.tables() == before


@pytest.mark.req("SUR-3")
def test_a_session_is_changed_on_the_revision_that_was_seen(filled: Filled) -> None:
    bound = filled.api.call("PATCH", filled.at(), {"title": "still Ada's"})
    tag = bound.headers["etag"]
    unbound = filled.api.call("PATCH", filled.at(), {"persona_id": None}, headers={"If-Match": tag})
    late = filled.api.call("PATCH", filled.at(), {"title": "late"}, headers={"If-Match": tag})
    named = filled.api.call(
        "PATCH", filled.at(), {"title": "now", "capability_scope": {"deny_tools": ["rm*"]}}
    )

    assert (bound.json["persona_id"], bound.json["project_ids"]) == ("ada", ["atlas"])
    assert (unbound.status, unbound.json["persona_id"], unbound.json["project_ids"]) == (200, None, ["atlas"])
    assert late.problem == (412, "revision.stale")
    assert (named.json["title"], named.json["persona_id"]) == ("now", None)
    assert named.json["capability_scope"] == {"deny_tools": ["rm*"]}


@pytest.mark.req("SUR-3")
def test_a_created_thing_is_found_where_the_answer_says(api: Api) -> None:
    def made(path: str, body: Json) -> str:
        answer = api.call("POST", path, body)
        assert answer.status == 201, answer
        assert api.get(answer.headers["location"]) == answer.json
        return answer.headers["location"]

    session = made("/v1/sessions", {"session_id": "a/b c", "title": "T"})
    run = made(f"{session}/runs", {"request": "Do it"})
    made(f"{run}/artifacts", {"name": "n", "text": "t"})
    record = made("/v1/memory/episodes", {"kind": "experiment", "content": "It was faster"})

    assert session == "/v1/sessions/a%2Fb%20c"
    assert api.get(record)["summary"] == "It was faster"


@pytest.mark.req("SUR-3")
def test_the_same_key_has_one_effect_and_another_call_with_it_is_refused(api: Api) -> None:
    body = {"key": "editor", "value": "helix", "reason": "they said so"}
    headers = {"Idempotency-Key": "caf%C3%A9 1"}
    first = api.call("POST", "/v1/memory/profile-proposals", body, headers=headers)
    again = api.call("POST", "/v1/memory/profile-proposals", body, headers=headers)
    other = api.call("POST", "/v1/memory/profile-proposals", {**body, "value": "vim"}, headers=headers)
    blank = api.call("POST", "/v1/memory/profile-proposals", body, headers={"Idempotency-Key": " "})

    assert (first.status, first.json) == (again.status, again.json)
    assert other.problem == (409, "idempotency.reused")
    assert blank.problem == (422, "idempotency.key")
    assert len(api.get("/v1/review")["items"]) == 1


@pytest.mark.req("SUR-3")
def test_keys_of_sessions_and_runs_have_one_effect(api: Api) -> None:
    headers = {"Idempotency-Key": "once"}
    sessions = [api.call("POST", "/v1/sessions", {"title": "T"}, headers=headers).json for _ in range(2)]
    path = f"/v1/sessions/{sessions[0]['session_id']}/runs"
    runs = [
        api.call("POST", path, {"request": "Do it"}, headers={"Idempotency-Key": "run"}).json
        for _ in range(2)
    ]

    assert sessions[0] == sessions[1]
    assert runs[0] == runs[1]
    assert (len(api.get("/v1/sessions")["items"]), len(api.get("/v1/runs")["items"])) == (1, 1)


@pytest.mark.req("SUR-3")
def test_lists_are_paged_to_their_end(api: Api) -> None:
    made = [api.post("/v1/sessions", {"title": f"{n}"}, status=201)["session_id"] for n in range(7)]

    seen, cursor = [], None
    while True:
        page = api.get("/v1/sessions", limit=3, **({} if cursor is None else {"cursor": cursor}))
        seen += [session["session_id"] for session in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert sorted(seen) == sorted(made)
    assert len(seen) == 7


@pytest.mark.req("LAY-6", "LAY-7")
@pytest.mark.parametrize("form", ["one", "list", "scoped"])
def test_findings_are_taken_in_any_of_their_forms(api: Api, form: str) -> None:
    payload = {**FINDING, "stars": 12, "raw": {"html": "<b>"}}
    body = {"one": payload, "list": [payload], "scoped": {"findings": [payload], "scope": "project:atlas"}}[
        form
    ]

    scan, finding = api.post("/v1/memory/radar", body, status=201)["items"]
    confirmed = api.post(f"/v1/review/{finding['record_id']}/confirm")
    adopted = api.post(f"/v1/memory/radar/{finding['record_id']}/adopt", {"workflow": "build"})
    undone = api.post(f"/v1/memory/radar/{finding['record_id']}/undo", {"reason": "it broke"})

    assert (scan["kind"], finding["proposal"], confirmed["state"]) == ("scan", "radar", "active")
    assert "stars" not in finding["metadata"]
    assert finding["scope"]["kind"] == ("project" if form == "scoped" else "workspace")
    assert adopted["procedure"]["metadata"]["workflow"] == "build"
    assert (adopted["episode"]["kind"], undone["episode"]["kind"]) == ("promotion", "rollback")
    assert undone["procedure"]["state"] == "tombstoned"


@pytest.mark.req("LAY-7", "LAY-1")
def test_an_operator_confirms_rejects_rolls_back_and_restores(api: Api) -> None:
    first = Filled(api)
    newer = first.confirm(first.propose("editor", "zed"))
    rejected = api.post(f"/v1/review/{first.waiting}/reject", {"reason": "no"})
    back = api.post(f"/v1/memory/records/{newer}/rollback", {"restore_sources": True})
    forgotten = api.post(f"/v1/memory/records/{newer}/forget", {"reason": "private"})

    assert (rejected["state"], rejected["state_reason"]) == ("tombstoned", "rejected")
    assert back["state_reason"] == "rolled_back"
    assert [record["record_id"] for record in back["restored"]] == [first.preference]
    assert (forgotten["dry_run"], forgotten["records"][0]["summary"]) == (False, "(forgotten)") or forgotten[
        "records"
    ]
    assert api.get(f"/v1/memory/records/{first.preference}")["state"] == "active"


@pytest.mark.req("LAY-3", "LAY-4", "LAY-7")
def test_what_says_the_same_is_merged_when_asked(api: Api) -> None:
    for repo_slug, where in (("acme/atlas", "as its CI does"), ("acme/borea", "as its page says")):
        finding = {**FINDING, "repo_slug": repo_slug, "summary": f"Atlas builds with one command, {where}"}
        found = api.post("/v1/memory/radar", finding, status=201)["items"][1]["record_id"]
        api.post(f"/v1/review/{found}/confirm")
        api.post(f"/v1/memory/radar/{found}/adopt", {"workflow": "build"})

    for path in ("/v1/memory/compactions", "/v1/memory/dedups"):
        possible = api.post(path)["items"]
        elsewhere = api.post(path, {"scopes": ["project:none", {"kind": "project", "id": "other"}]})["items"]
        proposed = api.post(path, {"create_proposals": True, "scopes": ["workspace"]})
        assert (len(possible), elsewhere, proposed["count"]) == (1, [], 1), path
        assert proposed["records"][0]["state"] == "constrained"
        assert len(possible[0]["sources"]) == 2


@pytest.mark.req("SUR-5")
def test_an_export_is_taken_back_through_the_api(api: Api, tmp_path: Path) -> None:
    Filled(api)
    told = api.post("/v1/memory/export", status=201)
    body = Path(told["path"]).read_bytes()

    media = {"Content-Type": "application/octet-stream"}
    landed = api.call("POST", "/v1/memory/import", body, headers=media)
    chunked = api.call("POST", "/v1/memory/import", iter([body[:1000], body[1000:]]), headers=media)
    wrong = api.call("POST", "/v1/memory/import", b"not an export", headers=media)
    typed = api.call("POST", "/v1/memory/import", body, headers={"Content-Type": "text/html"})
    denied = api.call("POST", "/v1/memory/import", body, headers=media, token=api.token("r", Role.READER))

    assert (landed.status, landed.json["mode"], chunked.status) == (200, "candidates", 200)
    assert wrong.status == 422
    assert typed.problem == (415, "request.media-type")
    assert denied.problem == (403, "role.denied")
    assert not list(Path(api.service.incoming).iterdir())
