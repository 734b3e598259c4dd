"""The learning plane over HTTP: from a candidate to a learning that a run speaks about, and back again."""

from typing import Any

import pytest

from runlore.domain.access import Role
from tests.surfaces.api_client import Answer, Api, Json, path_of

pytestmark = pytest.mark.req("SUR-3", "LRN-1")
FACT: Json = {"kind": "fact", "content": "The codename is Atlas"}


def said(api: Api, content: str, **more: Any) -> str:
    """A candidate's id."""
    body = {**FACT, "content": content, **more}
    return str(api.post("/v1/learning-candidates", body, status=201)["record_id"])


def published(api: Api, content: str, **more: Any) -> Json:
    """A learning."""
    return act(api, said(api, content), "publish", more).json


def act(api: Api, record_id: str, deed: str, body: Json | None = None, **more: Any) -> Answer:
    """An act on a candidate or on a learning."""
    place = "learning-candidates" if deed in {"publish", "reject"} else "learnings"
    return api.call("POST", path_of("v1", place, record_id, deed), body, **more)


def given(api: Api, request: str, run_id: str) -> Json:
    """A run that is opened with its context."""
    api.call("POST", "/v1/sessions", {"session_id": "s"})
    body = {"run_id": run_id, "request": request, "context": True}
    return api.post("/v1/sessions/s/runs", body, status=201)


@pytest.mark.req("LRN-2", "REC-7")
def test_a_candidate_is_made_where_its_location_says_and_its_origin_is_not_for_the_caller_to_choose(
    api: Api,
) -> None:
    body = {
        **FACT,
        "scope": {"kind": "project", "id": "acme"},
        "metadata": {"topic_tags": ["names"]},
        "confidence": 91,
        "sensitivity": "sensitive",
        "source": {"agent": "test"},
        "evidence_refs": [{"run_id": "r", "event_number": 3, "note": "it was said"}, {}],
        "expires_at": "2100-01-01",
    }
    made = api.call("POST", "/v1/learning-candidates", body)
    record = made.json

    assert (made.status, made.headers["etag"]) == (201, '"1"')
    assert api.get(made.headers["location"])["record_id"] == record["record_id"]
    assert (record["state"], record["origin"], record["created_by"]) == ("constrained", "api", "operator")
    assert (record["summary"], record["confidence"]) == ("The codename is Atlas", 91)
    assert record["scope"] == {"kind": "project", "id": "acme"}
    assert record["evidence_refs"][0] == {
        "run_id": "r",
        "artifact_id": None,
        "event_number": 3,
        "note": "it was said",
    }
    for forbidden in ("origin", "created_by", "state", "provenance", "publish_tier", "policy_decision"):
        told = api.call("POST", "/v1/learning-candidates", {**FACT, forbidden: record[forbidden]})
        assert told.problem == (422, "request.field"), forbidden


@pytest.mark.parametrize("name", ["content", "summary"])
def test_the_text_may_be_called_content_or_summary(api: Api, name: str) -> None:
    made = api.post("/v1/learning-candidates", {"kind": "fact", name: "It is so"}, status=201)
    known = act(api, made["record_id"], "publish", {name: "It is so indeed"}).json
    newer = act(api, made["record_id"], "supersede", {name: "It was so"}).json

    assert [record["summary"] for record in (made, known, newer)] == [
        "It is so",
        "It is so indeed",
        "It was so",
    ]
    waiting = said(api, f"It is said under {name}")
    confirmed = api.post(path_of("v1", "review", waiting, "confirm"), {name: "It is mended"})
    assert confirmed["summary"] == "It is mended"
    both = {"kind": "fact", "content": "one", "summary": "other"}
    assert api.call("POST", "/v1/learning-candidates", both).problem == (422, "request.field")


@pytest.mark.req("LRN-7", "LRN-9", "REC-4")
def test_a_learning_is_published_superseded_and_revoked(api: Api) -> None:
    first = published(api, "The codename is Atlas", confidence=55, reason="looked at")
    newer = act(api, first["record_id"], "supersede", {"content": "The codename is Borea"}).json
    gone = act(api, newer["record_id"], "revoke", {"reason": "renamed"}).json

    assert (first["state"], first["publish_tier"], first["policy_decision"]) == ("active", "active", "manual")
    assert (first["confidence"], first["policy_actor"]) == (55, "operator")
    assert (newer["supersedes"], newer["state"]) == (first["record_id"], "active")
    assert newer["verification_status"] == "unverified"
    assert (gone["state"], gone["state_reason"]) == ("tombstoned", "revoked")
    listed = api.get("/v1/learnings")["items"]
    assert [record["state"] for record in listed] == ["tombstoned", "superseded"]
    assert api.get("/v1/learnings", as_of=first["published_at"])["items"][0] == first


@pytest.mark.req("REC-10")
def test_an_act_on_a_revision_that_is_not_the_present_one_is_refused_both_ways(api: Api) -> None:
    candidate, learning = said(api, "One thing is so"), published(api, "Another thing is so")["record_id"]
    before = api.tables()

    for record_id, deed, body in (
        (candidate, "publish", {}),
        (candidate, "reject", {}),
        (learning, "revoke", {}),
        (learning, "supersede", {"content": "Another thing was so"}),
        (learning, "verify", {}),
    ):
        stale = act(api, record_id, deed, body, headers={"If-Match": '"7"'})
        told = act(api, record_id, deed, {**body, "expected_revision": 7})
        assert (stale.problem, told.problem) == ((412, "revision.stale"), (409, "record.revision")), deed
    assert api.tables() == before
    tag = api.call("GET", path_of("v1", "learnings", learning)).headers["etag"]
    assert act(api, learning, "revoke", headers={"If-Match": tag}).status == 200


def test_one_key_has_one_effect_for_every_act(api: Api) -> None:
    key = {"Idempotency-Key": "once"}
    made = [api.call("POST", "/v1/learning-candidates", FACT, headers=key) for _ in range(2)]
    record_id = made[0].json["record_id"]
    other = api.call("POST", "/v1/learning-candidates", {**FACT, "content": "x"}, headers=key)
    assert (made[0].json, made[0].status) == (made[1].json, made[1].status)
    assert other.problem == (409, "idempotency.reused")

    for deed, body in (
        ("publish", {"publish_tier": "provisional"}),
        ("verify", {"on_my_word": True}),
        ("supersede", {"content": "The codename is Borea"}),
    ):
        twice = [act(api, record_id, deed, body, headers={"Idempotency-Key": deed}).json for _ in range(2)]
        assert twice[0] == twice[1], deed
    whole = {"kind": "fact", "reason": "all of them"}
    twice = [
        api.call("POST", "/v1/learnings/revoke-matching", whole, headers={"Idempotency-Key": "all"}).json
        for _ in range(2)
    ]
    assert twice[0] == twice[1]
    assert len(twice[0]["items"]) == 1


@pytest.mark.req("PRJ-5")
def test_each_filter_of_the_list_narrows_it(api: Api) -> None:
    everywhere = published(api, "The codename is Atlas")["record_id"]
    there = published(api, "Deploys wait for ada", kind="decision", scope="project:acme")["record_id"]
    later = published(api, "Tests run on push", publish_tier="provisional")["record_id"]
    gone = published(api, "The office is open")["record_id"]
    act(api, gone, "revoke")

    def listed(**query: Any) -> set[str]:
        return {record["record_id"] for record in api.get("/v1/learnings", **query)["items"]}

    assert listed() == {everywhere, there, later, gone}
    assert listed(scope_kind="project") == listed(scope="project:acme") == {there}
    assert listed(scope_kind="project", scope_id="acme") == {there}
    assert listed(scope_kind="project", scope_id="other") == set()
    assert listed(scope_kind=["project", "workspace"], state="active") == {everywhere, there, later}
    assert listed(kind="decision") == {there}
    assert listed(kind=["decision", "fact"], state="tombstoned") == {gone}
    assert listed(publish_tier="provisional") == {later}
    assert listed(policy_decision="automatic") == listed(policy_actor="daemon") == listed(rule="x") == set()
    assert listed(policy_decision="manual", policy_actor="operator", text="CODENAME") == {everywhere}
    assert listed(as_of="2001-01-01") == set()
    pages: list[str] = []
    cursor = None
    while not pages or cursor is not None:
        query: Json = {"limit": 1, **({} if cursor is None else {"cursor": cursor})}
        page = api.get("/v1/learnings", **query)
        pages += [record["record_id"] for record in page["items"]]
        cursor = page["next_cursor"]
    assert pages == [gone, later, there, everywhere]


@pytest.mark.req("LRN-9")
def test_what_matches_is_shown_first_and_revoked_together(api: Api) -> None:
    kept = published(api, "The codename is Atlas")["record_id"]
    ids = [
        published(api, f"Deploys wait for {name}", kind="decision")["record_id"] for name in ("ada", "bob")
    ]
    before = api.tables()

    shown = api.post("/v1/learnings/revoke-matching", {"kind": ["decision"], "dry_run": True})
    assert api.tables() == before
    done = api.post("/v1/learnings/revoke-matching", {"kind": "decision", "reason": "both left"})
    again = api.post("/v1/learnings/revoke-matching", {"kind": "decision"})

    assert [record["record_id"] for record in shown["items"]] == ids[::-1]
    assert [record["record_id"] for record in done["items"]] == ids[::-1]
    assert {record["state"] for record in done["items"]} == {"tombstoned"}
    assert (shown["dry_run"], done["dry_run"], again["items"]) == (True, False, [])
    assert api.get(path_of("v1", "learnings", kept))["state"] == "active"


@pytest.mark.req("LRN-13")
def test_a_run_says_what_it_makes_of_what_it_was_given(api: Api) -> None:
    learning = published(api, "The codename is Atlas")["record_id"]
    other = published(api, "Deploys wait for ada", kind="decision")["record_id"]
    run = given(api, "What is the codename?", "r")
    assert learning in str(run["sections"])

    helped = act(api, learning, "feedback", {"run_id": "r", "verdict": "helped"}).json
    wrong = act(api, learning, "feedback", {"run_id": "r", "verdict": "wrong", "note": "it is Borea"}).json
    elsewhere = act(api, other, "feedback", {"run_id": "r", "verdict": "wrong"})

    assert helped["feedback"] == {"wrong": 0, "helped": 1}
    assert sum(wrong["feedback"].values()) == 1, "one run counts once for each learning"
    assert elsewhere.problem == (422, "feedback.not-given")


@pytest.mark.req("LRN-13")
def test_what_was_called_wrong_waits_in_the_inbox_until_an_operator_answers(api: Api) -> None:
    learning = published(api, "The codename is Atlas")["record_id"]
    given(api, "What is the codename?", "r")
    act(api, learning, "feedback", {"run_id": "r", "verdict": "wrong"})

    first = api.get("/v1/review")["items"]
    seen = api.get("/v1/sessions/s/memory-context", query="codename")["learned_context"]["entries"]
    act(api, learning, "verify", {"on_my_word": True, "reason": "I looked it up"})

    assert [(item["record_id"], item["state"]) for item in first] == [(learning, "active")]
    assert [entry["record_id"] for entry in seen] == [learning], "it is active while it waits"
    assert api.get("/v1/review")["items"] == []


@pytest.mark.req("LRN-10")
def test_a_provisional_learning_is_raised_on_the_operators_word(api: Api) -> None:
    learning = published(api, "The codename is Atlas", publish_tier="provisional")["record_id"]
    unsupported = act(api, learning, "verify").json
    raised = act(
        api, learning, "verify", {"on_my_word": True, "evidence_refs": [{"note": "I was there"}]}
    ).json

    assert unsupported["publish_tier"] == "provisional"
    assert (raised["publish_tier"], raised["evidence_refs"][-1]["note"]) == ("active", "I was there")


@pytest.mark.req("LRN-5")
def test_the_original_answers_for_a_duplicate(api: Api) -> None:
    original = published(api, "Project codename is Atlas")
    twin = said(api, "project codename: atlas")

    answer = act(api, twin, "publish").json
    ended = api.get(path_of("v1", "learning-candidates", twin))

    assert answer["record_id"] == original["record_id"]
    assert (ended["state_reason"], ended["duplicate_of"]) == ("duplicate", original["record_id"])


@pytest.mark.req("POL-6", "POL-11")
def test_the_learning_policy_is_put_tried_and_rolled_back_like_the_others(api: Api) -> None:
    path = "/v1/policies/learning"
    candidate = said(api, "The codename is Atlas", scope="project:acme")
    defaults = api.call("GET", path)
    rule = {"name": "facts", "kind": "fact", "action": "publish_provisional"}
    wanted = {"mode": "enabled", "publication": {"rules": [rule]}}
    tried = api.post(f"{path}/test", {"policy": wanted})
    assert api.get(path) == defaults.json, "a policy that is tried is not put"

    put = api.call("PUT", path, {"policy": wanted}, headers={"If-Match": defaults.headers["etag"]})
    late = api.call("PUT", path, {"policy": {}}, headers={"If-Match": defaults.headers["etag"]})
    back = api.post(f"{path}/rollback", {"to_revision": 0})

    (row,) = tried["items"]
    assert (row["record"]["record_id"], tried["present_revision"], row["differs"]) == (candidate, 0, True)
    assert (row["present"]["action"], row["tried"]["action"]) == ("manual_review", "publish_provisional")
    assert row["tried"]["rule"] == "facts"
    assert (put.status, put.json["revision"], put.json["policy"]["mode"]) == (200, 1, "enabled")
    assert late.problem == (412, "revision.stale")
    assert back["policy"] == defaults.json["policy"]
    assert [revision["revision"] for revision in api.get(f"{path}/history")["items"]] == [2, 1]


@pytest.mark.req("LRN-2", "TNT-1")
def test_what_an_agent_says_after_it_read_from_outside_waits_until_somebody_accepts_it(api: Api) -> None:
    agent = api.token("claude-code", Role.AGENT)
    api.call("POST", "/v1/sessions", {"session_id": "web"}, token=agent)
    api.call("POST", "/v1/sessions/web/runs", {"run_id": "web-1", "request": "Read it"}, token=agent)
    before = api.call("POST", "/v1/learning-candidates", FACT, token=agent).json
    fetch = {"type": "tool_call", "call_id": "1", "name": "WebFetch", "arguments": {"url": "https://e.org"}}
    api.call("POST", "/v1/runs/web-1/events", {"events": [fetch]}, token=agent)
    made = api.call("POST", "/v1/learning-candidates", FACT, token=agent).json

    refused = act(api, made["record_id"], "publish")
    accepted = act(api, made["record_id"], "publish", {"accept_untrusted": True}).json

    assert not before["provenance"]["needs_review"]
    assert (made["created_by"], made["provenance"]["needs_review"]) == ("claude-code", True)
    assert refused.status == 422
    assert "https://e.org" in refused.json["detail"], "the sources are named"
    assert (accepted["state"], accepted["provenance"]["needs_review"]) == ("active", False)


@pytest.mark.req("LRN-14", "LRN-15")
def test_a_conflict_offers_three_answers_and_no_replacement_hides_what_it_replaces(api: Api) -> None:
    old = published(api, "The staging port is 6001")["record_id"]
    new = said(api, "The staging port is 5433")

    conflict = act(api, new, "publish")
    hiding = act(api, new, "publish", {"supersedes": old, "publish_tier": "provisional"})
    hidden = act(api, old, "supersede", {"content": "The staging port is 1", "sensitivity": "sensitive"})
    misnamed = act(api, new, "publish", {"both_hold": ["rec_none"]})
    both = act(api, new, "publish", {"both_hold": [old]})

    assert conflict.problem == (409, "review.conflict")
    assert f'"supersedes": "{old}"' in conflict.json["hint"]
    assert f'"both_hold": ["{old}"]' in conflict.json["hint"]
    assert hiding.problem == hidden.problem == (409, "review.hides")
    assert misnamed.problem == (404, "record.not-found")
    assert (both.status, both.json["both_hold"]) == (200, [old])
    assert api.get(path_of("v1", "learnings", old))["both_hold"] == [new]
