"""From one run to a later prompt: real daemons learn with a model that speaks a provider's protocol."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.domain.prompts.injected import INTRO
from runlore.domain.prompts.projection import SectionName
from tests.flow.poisoning import BOLDEST
from tests.model_server import KEY, KEY_VARIABLE, ModelServer, model_server
from tests.stories.learning import Learner, Model, sections_of, started
from tests.waiting import until

LABELLED = "commit messages are written in the imperative"
SPOKEN = "The staging database listens on port 5433"
REQUEST = f"Preference: {LABELLED}.\n\n{SPOKEN}. Please migrate it tonight."
CLAIM = "Backups of the billing service are kept for ninety days"
FETCHED = (
    {
        "type": "tool_call",
        "call_id": "c1",
        "name": "WebFetch",
        "arguments": {"url": "https://example.org/backups"},
    },
    {"type": "tool_result", "call_id": "c1", "output": f"{CLAIM}."},
)
PUBLISHED = "/v1/learnings?state=active&publish_tier=active"
LEARNED = SectionName.LEARNED_CONTEXT.value
MODEL = Model(finds={"staging": ("fact", SPOKEN), "page": ("fact", CLAIM)})


@pytest.fixture(params=[("sqlite", "openai"), ("postgres", "anthropic")], ids="-".join)
def scene(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Learner, ModelServer]]:
    """A daemon under the boldest policy, on either database, with a model of either protocol."""
    engine, kind = request.param
    url = request.getfixturevalue("postgres_database") if engine == "postgres" else None
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with model_server(MODEL) as server:
        base_url = server.base_url("anthropic" if kind == "anthropic" else "compatible")
        settings = Settings(state_root=str(tmp_path / "home"), database_url=url)
        learner = Learner(settings, base_url=base_url, kind=kind)
        with started(learner):
            learner.put_policy(BOLDEST)
            yield learner, server


@pytest.mark.req("CAP-2", "CAP-4", "POL-7", "LRN-1", "LRN-9", "LRN-13", "PRJ-1")
def test_what_a_run_says_reaches_the_next_prompt_and_leaves_it_when_it_is_revoked(
    scene: tuple[Learner, ModelServer],
) -> None:
    learner, server = scene
    assert LEARNED not in learner.run("one", REQUEST, session_id="talk")
    until(lambda: len(learner.items(PUBLISHED)) == 2)
    learnings = {item["summary"]: item for item in learner.items(PUBLISHED)}
    assert set(learnings) == {LABELLED, SPOKEN}
    for item in learnings.values():
        assert (item["policy_actor"], item["verification_status"]) == ("daemon", "verified")
        assert item["automation_review"]["judge"]["reason"] == MODEL.reason
    preference, fact = (learnings[text]["record_id"] for text in (LABELLED, SPOKEN))

    text = learner.run("two", "Write the commit for the staging database", session_id="talk")[LEARNED]
    assert text.split("\n")[1] == INTRO[SectionName.LEARNED_CONTEXT]
    assert f"[{preference} · preference · session:talk]\n```text\n{LABELLED}\n```" in text
    assert f"[{fact} · fact · session:talk]" in text
    assert LEARNED not in learner.run("elsewhere", "Write the commit", session_id="other")

    why = learner.call("GET", "/v1/runs/two/receipt")
    [told] = [section for section in why["sections"] if section["name"] == LEARNED]
    assert (told["text"], told["exact"]) == (text, True)
    [given] = [section for section in why["receipt"]["sections"] if section["name"] == LEARNED]
    assert {entry["source_id"] for entry in given["entries"]} == {preference, fact}

    assert preference not in _inbox(learner)
    wrong = {"run_id": "two", "verdict": "wrong", "note": "not here"}
    learner.call("POST", f"/v1/learnings/{preference}/feedback", wrong)
    assert _inbox(learner)[0] == preference
    learner.call("POST", f"/v1/learnings/{preference}/revoke", {"reason": "it was wrong"})
    assert preference not in _inbox(learner)

    text = learner.run("three", "Write the commit for the staging database", session_id="talk")[LEARNED]
    assert (preference in text, LABELLED in text, fact in text) == (False, False, True)
    asked = {received.path.rpartition("/")[2] for received in server.requests}
    assert len(asked) == 1
    assert all(KEY in " ".join(received.headers.values()) for received in server.requests)


@pytest.mark.req("TNT-1", "TNT-2", "LRN-1", "PRJ-1")
def test_what_a_page_claims_reaches_no_prompt_before_an_operator_accepts_it(
    scene: tuple[Learner, ModelServer],
) -> None:
    learner, server = scene
    learner.open("one", "What does the page say about backups?", session_id="talk")
    learner.finish("one", *FETCHED)
    waiting = "/v1/learning-candidates?policy_decision=escalated&kind=fact"
    until(lambda: learner.items(waiting))
    learner.wait_until_idle()
    [claim] = learner.items(waiting)
    assert (claim["summary"], claim["provenance"]["untrusted"]) == (CLAIM, True)
    assert not [seen for seen in server.requests if "candidate" in seen.document], (
        "a judge was asked about it"
    )

    given = learner.run("two", "How long are backups of the billing service kept?", session_id="talk")
    assert CLAIM not in "\n".join(given.values())
    learner.wait_until_idle()
    assert learner.items(PUBLISHED) == []

    publish = f"/v1/learning-candidates/{claim['record_id']}/publish"
    refused = learner.answer("POST", publish, {"reason": "looks right"})
    assert refused.status >= 400
    learner.call("POST", publish, {"reason": "I have read the page", "accept_untrusted": True})
    opened = learner.open("three", "How long are backups of the billing service kept?", session_id="talk")
    assert CLAIM in sections_of(opened)[LEARNED]


def _inbox(learner: Learner) -> list[str]:
    return [item["record_id"] for item in learner.items("/v1/review?limit=500")]
