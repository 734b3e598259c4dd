"""Running a daemon over HTTP: readiness, metrics, tokens, policies, capture, backups, its own document."""

import json
import os
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Receive, Scope, Send

from runlore.config.settings import Settings
from runlore.domain.access import Role
from tests.surfaces.api_client import Api, serving


def samples(api: Api) -> dict[str, float]:
    """Every metric by its name and its labels' values."""
    families = text_string_to_metric_families(api.call("GET", "/metrics").body.decode())
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.req("OPS-1")
def test_metrics_tell_calls_and_what_is_stored(api: Api) -> None:
    api.post("/v1/sessions", {"session_id": "secret-session"}, status=201)
    api.post("/v1/sessions/secret-session/runs", {"run_id": "r", "request": "Do it"}, status=201)
    api.post("/v1/runs/r/finish", {"status": "completed"})
    api.call("GET", "/v1/runs/none")
    api.call("BREW", "/v1/nothing/secret-path")

    told = samples(api)

    assert told["runlore_http_requests_total GET /v1/runs/{run_id} 404"] == 1
    assert told["runlore_http_requests_total POST /v1/runs/{run_id}/finish 200"] == 1
    assert told["runlore_http_requests_total OTHER (none) 404"] == 1
    assert told["runlore_http_request_seconds_count POST /v1/runs/{run_id}/finish"] == 1
    assert told["runlore_run_memory_stored_total"] == 1
    assert told["runlore_runs completed"] == told["runlore_sessions"] == 1
    assert told["runlore_records episodic active"] >= 1
    assert told["runlore_journal_bytes"] > 0
    assert told["runlore_jobs remember dead"] == 0
    assert not any("secret" in name for name in told)
    whole = api.get("/v1/status")
    assert told["runlore_waiting_for_review"] == whole["waiting"] == len(api.get("/v1/review")["items"])
    status = whole["run_memory"]["metrics"]
    assert {name: told[f"runlore_run_memory_{name}"] for name in status} == status


class BrokenSurface:
    """One that fails in a way that nobody foresaw."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError("a detail for the log")

    async def stop(self) -> None:
        """Nothing is open."""


@pytest.mark.req("OPS-1")
def test_a_surface_that_fails_is_told_and_counted_as_any_call(tmp_path: Path) -> None:
    settings = Settings(state_root=str(tmp_path / "runlore"))
    with serving(settings, mounts=lambda: {"/mcp": BrokenSurface()}) as api:
        connection = api.connection()
        connection.request("POST", "/mcp", b"{}", {"Authorization": f"Bearer {api.secret}"})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        told = samples(api)

    assert (answer.status, json.loads(body)["code"]) == (500, "internal")
    assert "for the log" not in body
    assert told["runlore_http_requests_total POST /mcp 500"] == 1


@pytest.mark.req("OPS-1", "OPS-5")
def test_metrics_are_for_readers_and_not_for_agents(embedded_api: Api) -> None:
    assert embedded_api.call("GET", "/metrics", token=embedded_api.token("r", Role.READER)).status == 200
    assert embedded_api.call("GET", "/metrics", token=embedded_api.token("a", Role.AGENT)).status == 403


@pytest.mark.req("OPS-5")
def test_a_token_is_made_listed_and_revoked_and_its_secret_is_told_once(api: Api) -> None:
    made = api.post("/v1/tokens", {"name": "ci", "role": "agent", "scopes": ["project:atlas"]}, status=201)
    again = api.call("POST", "/v1/tokens", {"name": "ci", "role": "reader"})
    listed = api.get("/v1/tokens")
    revoked = api.post("/v1/tokens/ci/revoke")

    assert made["scopes"] == [{"kind": "project", "id": "atlas"}]
    assert again.problem == (409, "token.exists")
    assert [token["name"] for token in listed["items"]] == ["ci", "operator"]
    assert made["secret"] not in json.dumps(listed)
    assert "digest" not in json.dumps(listed)
    assert revoked["revoked_at"] is not None
    assert made["secret"] not in json.dumps(api.tables())


@pytest.mark.req("OPS-6")
def test_a_policy_is_put_looked_up_and_rolled_back(api: Api) -> None:
    first = api.call("PUT", "/v1/policies/run-memory", {"policy": {"retention_days": 7}}).json
    second = api.call(
        "PUT", "/v1/policies/run-memory", {"policy": {"retention_days": 8}, "expected_revision": 1}
    )
    stale = api.call("PUT", "/v1/policies/run-memory", {"policy": {}, "expected_revision": 1})
    back = api.post("/v1/policies/run-memory/rollback", {"to_revision": 1})
    history = api.get("/v1/policies/run-memory/history")["items"]

    assert (first["revision"], first["policy"]["retention_days"], first["policy"]["budget_tokens"]) == (
        1,
        7,
        1200,
    )
    assert (second.headers["etag"], stale.problem) == ('"2"', (409, "policy.revision"))
    assert (back["revision"], back["policy"]) == (3, first["policy"])
    assert [revision["revision"] for revision in history] == [3, 2, 1]
    assert api.get("/v1/policies/run-memory") == history[0]


@pytest.mark.req("CAP-7")
def test_capture_is_paused_and_resumed(api: Api) -> None:
    api.post("/v1/sessions", {"session_id": "s"}, status=201)
    paused = api.post("/v1/capture/pause")
    unstored = api.post("/v1/sessions/s/runs", {"request": "Do it"})
    told = api.get("/v1/capture")
    resumed = api.post("/v1/capture/resume")
    stored = api.post("/v1/sessions/s/runs", {"request": "Do it"}, status=201)

    assert (paused["paused"], paused["by"], told) == (True, "operator", paused)
    assert (unstored["stored"], resumed["paused"], stored["stored"]) == (False, False, True)


@pytest.mark.req("OPS-3", "OPS-2")
def test_a_backup_is_written_and_everything_is_healthy(api: Api, tmp_path: Path) -> None:
    api.post("/v1/sessions", {"session_id": "s"}, status=201)
    told = api.post("/v1/backup", status=201)
    chosen = api.call("POST", "/v1/backup", {"path": str(tmp_path / "mine")})
    from_afar = api.call("POST", "/v1/backup", {"path": str(tmp_path / "theirs")}, over_tcp=True)
    health = api.post("/v1/doctor")

    assert Path(told["path"]).stat().st_size == told["bytes"]
    assert (chosen.status, (tmp_path / "mine").exists()) == (201, True)
    assert from_afar.problem == (403, "backup.path")
    assert not (tmp_path / "theirs").exists()
    assert health["healthy"], health


@pytest.mark.req("SUR-3")
def test_the_document_of_the_api_is_served_to_whoever_has_a_token(embedded_api: Api) -> None:
    told = embedded_api.get("/openapi.json")

    assert told["openapi"].startswith("3.")
    assert told["paths"]["/v1/memory/records/{record_id}"]["get"]["operationId"] == "get_record"
    assert told["paths"]["/healthz"]["get"]["security"] == []


@pytest.mark.req("OPS-1")
def test_a_call_belongs_to_the_trace_that_it_names_and_needs_none(embedded_api: Api) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for header in (parent, "nonsense"):
        assert embedded_api.call("GET", "/v1/status", headers={"traceparent": header}).status == 200


@pytest.mark.req("OPS-5", "SUR-3")
def test_every_answer_is_kept_out_of_caches(embedded_api: Api) -> None:
    for path in ("/v1/status", "/v1/none", "/metrics", "/openapi.json", "/healthz"):
        answer = embedded_api.call("GET", path)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


@pytest.mark.req("OPS-5")
def test_the_state_root_holds_nothing_that_others_can_read(embedded_api: Api) -> None:
    embedded_api.post("/v1/memory/export", status=201)
    embedded_api.post("/v1/backup", status=201)

    for folder, folders, files in os.walk(embedded_api.settings.state_root):
        for name in [*folders, *files]:
            assert not os.lstat(os.path.join(folder, name)).st_mode & 0o077, name
