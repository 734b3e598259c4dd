"""Wrong calls on the learning plane: each a clear problem document, and nothing half written."""

from typing import Any

import pytest

from tests.surfaces.api_client import Api, Json, path_of

pytestmark = pytest.mark.req("SUR-3", "LRN-1")

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FACT: Json = {"kind": "fact", "content": "The codename is Atlas"}
CANDIDATES = "/v1/learning-candidates"
NOWHERE = ("nowhere", "../../../x", "\x00", "ä/ö", "x" * 10_000)


class Known:
    """A Runlore with a candidate, a learning, and one of each that has ended."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.ids = {
            "waiting": self.said("The pager is less"),
            "rejected": self.said("The shell is fish"),
            "active": self.published("The codename is Borea"),
            "provisional": self.published("Tests run on push", publish_tier="provisional"),
            "revoked": self.published("The office is open"),
            "superseded": self.published("The port is 80"),
        }
        api.post(f"{CANDIDATES}/{self.ids['rejected']}/reject")
        api.post(f"/v1/learnings/{self.ids['revoked']}/revoke")
        api.post(f"/v1/learnings/{self.ids['superseded']}/supersede", {"content": "The port is 443"})
        api.post("/v1/sessions", {"session_id": "s"}, status=201)
        api.post("/v1/sessions/s/runs", {"run_id": "r", "request": "Hello"}, status=201)
        # What these have queued is done before a test looks at what a call changes.
        api.post("/v1/jobs/work", {"limit": 500})

    def said(self, content: str) -> str:
        """A candidate's id."""
        return str(self.api.post(CANDIDATES, {**FACT, "content": content}, status=201)["record_id"])

    def published(self, content: str, **more: Any) -> str:
        """A learning's id."""
        return str(self.api.post(f"{CANDIDATES}/{self.said(content)}/publish", more)["record_id"])

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """The problem of a call that leaves everything as it was; `{name}` stands for an id."""
        before = self.api.tables()
        answer = self.api.call(method, path.format(**self.ids), body)
        assert self.api.tables() == before, f"{method} {path} has changed something"
        return answer.problem


@pytest.fixture(scope="module")
def known(shared_api: Api) -> Known:
    """One for all, on either database."""
    return Known(shared_api)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"kind": "run_summary"}, "record.run-summary"),
        ({"kind": "scan"}, "candidate.kind"),
        ({"kind": "scratch"}, "candidate.kind"),
        ({"kind": "idea"}, "request.field"),
        ({"content": " \n "}, "record.summary-blank"),
        ({"content": "x" * 1_601}, "record.summary-long"),
        ({"content": 7}, "request.field"),
        ({"content": None}, "request.field"),
        ({"content": "a\x00b"}, "text.characters"),
        ({"content": f"push with {TOKEN}"}, "guard.secret"),
        ({"metadata": {"note": TOKEN}}, "guard.secret"),
        ({"metadata": {"topic_tags": "build"}}, "record.metadata"),
        ({"metadata": {"origin": "radar"}}, "candidate.metadata"),
        ({"metadata": []}, "request.field"),
        ({"scope": "team:a"}, "scope.kind"),
        ({"scope": "workspace:mine"}, "scope.workspace-id"),
        ({"scope": {"kind": "project", "id": " "}}, "scope.id"),
        ({"confidence": 101}, "record.confidence"),
        ({"confidence": -1}, "record.confidence"),
        ({"confidence": "80"}, "request.field"),
        ({"sensitivity": "secret"}, "request.field"),
        ({"expires_at": "2001-01-01"}, "record.expires-at"),
        ({"expires_at": "soon"}, "time.format"),
        ({"source": {"run_id": " "}}, "candidate.source"),
        ({"source": {"run_id": "x" * 201}}, "candidate.source"),
        ({"source": {"imported_from": "elsewhere"}}, "candidate.source"),
        ({"source": {"record_ids": ["none"]}}, "record.not-found"),
        ({"source": {"agent": TOKEN}}, "guard.secret"),
        ({"source": {"colour": "red"}}, "request.field"),
        ({"evidence_refs": [{"run_id": ""}]}, "candidate.source"),
        ({"evidence_refs": [{"note": TOKEN}]}, "guard.secret"),
        ({"evidence_refs": [{"event_number": "3"}]}, "request.field"),
        ({"evidence_refs": [{"url": "x"}]}, "request.field"),
        ({"evidence_refs": [{"note": "x"}] * 65}, "record.too-much"),
        ({"colour": "red"}, "request.field"),
        ({"origin": "daemon"}, "request.field"),
        ({"proposal": "profile"}, "request.field"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_candidate_that_cannot_be_is_refused(known: Known, body: Json, code: str) -> None:
    told = known.refused("POST", CANDIDATES, {**FACT, **body})

    assert told[1] == code
    assert told[0] in {404, 422}


@pytest.mark.parametrize("name", ["kind", "content"])
def test_what_is_missing_is_named(known: Known, name: str) -> None:
    body = {field: value for field, value in FACT.items() if field != name}
    answer = known.api.call("POST", CANDIDATES, body)

    assert answer.problem == (422, "request.field")
    assert answer.json["detail"] == f"{name} is missing"


@pytest.mark.req("REC-5", "LRN-7", "LRN-13")
@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("learning-candidates/{rejected}/publish", {}, (409, "record.move")),
        ("learning-candidates/{active}/publish", {"content": "It is otherwise"}, (409, "record.move")),
        ("learning-candidates/{active}/reject", {}, (409, "record.move")),
        ("learning-candidates/{waiting}/publish", {"kind": "procedure"}, (422, "record.kind-change")),
        ("learning-candidates/{waiting}/publish", {"kind": "run_summary"}, (422, "record.kind-change")),
        ("learning-candidates/{waiting}/publish", {"content": " "}, (422, "record.summary-blank")),
        ("learning-candidates/{waiting}/publish", {"content": TOKEN}, (422, "guard.secret")),
        ("learning-candidates/{waiting}/publish", {"reason": TOKEN}, (422, "guard.secret")),
        ("learning-candidates/{waiting}/publish", {"reason": "x" * 1_001}, (422, "reason.long")),
        ("learning-candidates/{waiting}/publish", {"confidence": 101}, (422, "record.confidence")),
        ("learning-candidates/{waiting}/publish", {"publish_tier": "gold"}, (422, "request.field")),
        ("learning-candidates/{waiting}/publish", {"supersedes": "none"}, (404, "record.not-found")),
        ("learning-candidates/{waiting}/publish", {"expires_at": "2001-01-01"}, (422, "record.expires-at")),
        ("learning-candidates/{waiting}/publish", {"scope": "galaxy:x"}, (422, "scope.kind")),
        ("learning-candidates/{waiting}/publish", {"state": "active"}, (422, "request.field")),
        ("learning-candidates/{waiting}/reject", {"reason": TOKEN}, (422, "guard.secret")),
        ("learning-candidates/{waiting}/reject", {"dry_run": True}, (422, "request.field")),
        ("learnings/{waiting}/revoke", {}, (409, "record.move")),
        ("learnings/{superseded}/revoke", {}, (409, "record.move")),
        ("learnings/{active}/revoke", {"reason": TOKEN}, (422, "guard.secret")),
        ("learnings/{revoked}/supersede", {"content": "It is shut"}, (409, "record.move")),
        ("learnings/{superseded}/supersede", {"content": "The port is 8080"}, (409, "record.move")),
        ("learnings/{waiting}/supersede", {"content": "The pager is more"}, (409, "record.move")),
        (
            "learnings/{active}/supersede",
            {"content": "The codename is Danube", "scope": "project:acme"},
            (409, "learning.scope"),
        ),
        ("learnings/{active}/supersede", {}, (422, "request.field")),
        ("learnings/{active}/supersede", {"content": TOKEN}, (422, "guard.secret")),
        ("learnings/{active}/supersede", {"content": "x", "supersedes": "y"}, (422, "request.field")),
        ("learnings/{revoked}/verify", {}, (409, "record.move")),
        ("learnings/{waiting}/verify", {"on_my_word": True}, (404, "learning.not-found")),
        ("learnings/{active}/verify", {"evidence_refs": [{"run_id": ""}]}, (422, "candidate.source")),
        ("learnings/{active}/verify", {"on_my_word": "yes"}, (422, "request.field")),
        ("learnings/{active}/feedback", {"run_id": "r"}, (422, "request.field")),
        ("learnings/{active}/feedback", {"run_id": "r", "verdict": "fine"}, (422, "request.field")),
        ("learnings/{active}/feedback", {"run_id": "r", "verdict": "wrong"}, (422, "feedback.not-given")),
        ("learnings/{active}/feedback", {"run_id": "x", "verdict": "wrong"}, (404, "run.not-found")),
        ("learnings/none/feedback", {"run_id": "r", "verdict": "wrong"}, (422, "feedback.not-given")),
        (
            "learnings/{active}/feedback",
            {"run_id": "r", "verdict": "wrong", "note": "x" * 1_001},
            (422, "feedback.note"),
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_move_that_is_not_legal_or_not_whole_is_refused(
    known: Known, path: str, body: Json, problem: tuple[int, str]
) -> None:
    assert known.refused("POST", f"/v1/{path}", body) == problem


@pytest.mark.req("LRN-9")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "learning.filter"),
        ({"reason": "all of it", "dry_run": True}, "learning.filter"),
        ({"text": " "}, "learning.filter"),
        ({"kind": []}, "learning.filter"),
        ({"kind": None, "scope": None}, "learning.filter"),
        ({"state": "active"}, "learning.filter"),
        ({"state": ["tombstoned"], "kind": "fact"}, "learning.filter"),
        ({"scope_id": "acme"}, "scope.kind"),
        ({"scope_kind": ["project", "session"], "scope_id": "acme"}, "scope.kind"),
        ({"scope_kind": "workspace", "scope_id": "mine"}, "scope.workspace-id"),
        ({"scope_kind": "galaxy"}, "request.field"),
        ({"kind": "idea"}, "request.field"),
        ({"as_of": "2026-01-01", "kind": "fact"}, "request.field"),
        ({"kind": "fact", "reason": TOKEN}, "guard.secret"),
        ({"text": "x" * 4_001}, "query.long"),
        ({"filters": {"kind": "fact"}}, "request.field"),
    ],
    ids=str,
)
def test_a_revocation_that_names_nothing_is_refused(known: Known, body: Json, code: str) -> None:
    assert known.refused("POST", "/v1/learnings/revoke-matching", body) == (422, code)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("learnings?kind=idea", "request.field"),
        ("learnings?state=done", "request.field"),
        ("learnings?publish_tier=gold", "request.field"),
        ("learnings?policy_decision=maybe", "request.field"),
        ("learnings?scope_kind=galaxy", "request.field"),
        ("learnings?scope_id=acme", "scope.kind"),
        ("learnings?scope=team:a", "scope.kind"),
        ("learnings?limit=0", "limit.range"),
        ("learnings?limit=501", "limit.range"),
        ("learnings?cursor=what", "cursor.format"),
        ("learnings?as_of=later", "time.format"),
        ("learnings?layer=semantic", "request.field"),
        ("learnings?policy_actor=a&policy_actor=b", "request.field"),
        ("learnings?text=%00", "text.characters"),
        ("learning-candidates?publish_tier=active", "request.field"),
        ("learning-candidates?kind=idea", "request.field"),
        ("learning-candidates?limit=x", "request.field"),
        ("learning-candidates?cursor=", "cursor.format"),
        (f"learning-candidates?text={'x' * 4_001}", "query.long"),
    ],
    ids=lambda value: value[:60],
)
def test_a_list_that_cannot_be_is_refused(known: Known, query: str, code: str) -> None:
    assert known.refused("GET", f"/v1/{query}") == (422, code)


@pytest.mark.req("SUR-7")
def test_an_id_that_names_nothing_is_not_found(known: Known) -> None:
    before = known.api.tables()
    calls = [
        ("GET", "learning-candidates", "", None),
        ("POST", "learning-candidates", "publish", {}),
        ("POST", "learning-candidates", "reject", {}),
        ("GET", "learnings", "", None),
        ("POST", "learnings", "revoke", {}),
        ("POST", "learnings", "supersede", {"content": "It is so"}),
        ("POST", "learnings", "verify", {}),
    ]

    for name in NOWHERE:
        for method, place, deed, body in calls:
            path = path_of("v1", place, name, *([deed] if deed else []))
            assert known.api.call(method, path, body).problem == (404, "record.not-found"), (path, deed)

    assert known.api.tables() == before


def test_what_was_never_published_is_no_learning(known: Known) -> None:
    assert known.refused("GET", "/v1/learnings/{waiting}") == (404, "learning.not-found")
    assert known.refused("GET", "/v1/learnings/{rejected}") == (404, "learning.not-found")


@pytest.mark.req("POL-5")
@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"mode": "bold"}, "mode"),
        ({"colour": "red"}, "colour"),
        ({"publication": {"default_action": "publish_active"}}, "publication.default_action"),
        ({"publication": {"rules": [{"name": "all", "action": "publish_active"}]}}, "kind"),
        (
            {"publication": {"rules": [{"name": "all", "action": "publish_active", "kind": "procedure"}]}},
            "kind",
        ),
        ({"publication": {"rules": [{"name": "all"}]}}, "action"),
        ({"publication": {"rules": [{"action": "reject", "min_confidence": 101}]}}, "min_confidence"),
        ({"publication": {"rules": [{"action": "reject", "name": "a"}] * 2}}, "name"),
        ({"publication": {"rules": {}}}, "publication.rules"),
        ({"capture": {"semantic_candidates": {"max_candidates_per_run": 9}}}, "max_candidates_per_run"),
        ({"judge": {"timeout_s": 0}}, "judge.timeout_s"),
        ({"model_budget": {"calls_per_day": "many"}}, "model_budget.calls_per_day"),
        ({"projection": {"max_entries": True}}, "projection.max_entries"),
    ],
    ids=lambda value: str(value)[:70],
)
@pytest.mark.parametrize(("method", "below"), [("PUT", ""), ("POST", "/test")])
def test_a_refused_policy_takes_no_effect_and_names_its_field(
    known: Known, policy: Json, field: str, method: str, below: str
) -> None:
    before = known.api.tables()
    answer = known.api.call(method, f"/v1/policies/learning{below}", {"policy": policy})

    assert answer.problem == (422, "policy.field")
    assert field in answer.json["detail"]
    assert known.api.tables() == before


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("policies/retention/test", {"policy": {}}, (422, "policy.trial")),
        ("policies/none/test", {"policy": {}}, (404, "policy.not-found")),
        ("policies/learning/test", {"policy": {}, "limit": 0}, (422, "limit.range")),
        ("policies/learning/test", {"policy": []}, (422, "request.field")),
        ("policies/learning/test", {}, (422, "request.field")),
        ("capture/backfill", {"session_id": "none"}, (404, "session.not-found")),
        ("capture/backfill", {"since": "then"}, (422, "time.format")),
        ("capture/backfill", {"limit": 501}, (422, "limit.range")),
        ("capture/backfill", {"runs": ["r"]}, (422, "request.field")),
        ("capture/backfill", {}, (422, "capture.off")),
        ("jobs/work", {"limit": 0}, (422, "limit.range")),
        ("jobs/work", {"kind": "review"}, (422, "request.field")),
    ],
    ids=str,
)
def test_work_that_cannot_be_asked_for_is_refused(
    known: Known, path: str, body: Json, problem: tuple[int, str]
) -> None:
    assert known.refused("POST", f"/v1/{path}", body) == problem


@pytest.mark.req("LRN-8")
def test_no_secret_is_repeated(known: Known) -> None:
    for path, body in (
        (CANDIDATES, {**FACT, "content": TOKEN}),
        (CANDIDATES, {**FACT, "metadata": {TOKEN: "x"}}),
        (f"{CANDIDATES}/{known.ids['waiting']}/publish", {"content": f"token {TOKEN}"}),
        (f"/v1/learnings/{known.ids['active']}/supersede", {"content": TOKEN}),
        (f"/v1/learnings/{known.ids['active']}/revoke", {"reason": TOKEN}),
        ("/v1/learnings/revoke-matching", {"kind": "fact", "reason": TOKEN}),
        (CANDIDATES, {**FACT, "kind": TOKEN}),
        (CANDIDATES, {**FACT, TOKEN: 1}),
    ):
        answer = known.api.call("POST", path, body)
        assert answer.status == 422
        assert TOKEN not in answer.json["hint"]
        assert TOKEN not in answer.json["detail"] or body.get(TOKEN) == 1
