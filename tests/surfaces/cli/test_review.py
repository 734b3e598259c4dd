"""Review through the command line: proposals, conflicts, merges, and the way back from each."""

import json
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

from runlore.cli.tables.record_tables import show_review
from runlore.domain.records.publication import Consequences, Obstacle
from runlore.ports import operations as ops
from tests.builders import fact
from tests.surfaces.command_line import Json, Runlore
from tests.waiting import until

QUEUE = ("--topic-tag", "queue", "--topic-tag", "agents")
LIKE = (
    "Atlas agents take planning tasks from a queue",
    "Atlas agents take their planning tasks from one queue",
)


def compact(runlore: Runlore, *more: str) -> list[Json]:
    """What would merge, or with `--create-proposals` what was proposed."""
    return runlore.items("memory", "semantic", "compact", *more)


def dedup(runlore: Runlore, *more: str) -> list[Json]:
    """Which procedures would merge."""
    return runlore.items("memory", "procedural", "dedup", *more)


def waiting(runlore: Runlore) -> list[Json]:
    """The review list."""
    return runlore.items("memory", "review", "list")


@pytest.mark.req("LAY-1")
def test_a_proposal_waits_until_it_is_confirmed(runlore: Runlore) -> None:
    record_id = runlore.propose("editor", "vim")

    proposed = runlore.inspect(record_id)
    assert (proposed["layer"], proposed["kind"], proposed["state"]) == (
        "profile",
        "preference",
        "constrained",
    )
    assert (proposed["summary"], proposed["proposal"]) == ("editor: vim", "profile")
    assert proposed["metadata"] == {"profile_key": "editor", "value": "vim", "reason": "they said so"}
    assert runlore.items("memory", "list") == []
    assert runlore.items("memory", "search", "editor") == []

    confirmed = runlore.confirm(record_id)

    assert (confirmed["state"], confirmed["publish_tier"]) == ("active", "active")
    assert (confirmed["policy_decision"], confirmed["policy_actor"]) == ("manual", "operator")
    assert [record["record_id"] for record in runlore.items("memory", "list")] == [record_id]
    assert waiting(runlore) == []


@pytest.mark.req("LAY-1", "REC-4")
def test_confirming_replaces_what_the_list_showed_beside_it(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim")
    new = runlore.propose("Editor", "helix", reason="switched in May")
    header, titles, texts, *remarks = runlore.text("memory", "review", "list").splitlines()

    confirmed = runlore.confirm(new)

    assert header == f"{new}  preference in workspace"
    assert titles.split() == ["NOW", "AFTER", "CONFIRMING"]
    assert texts.split() == ["editor:", "vim", "Editor:", "helix"]
    assert remarks == [f"  replaces {old}", "  why: switched in May"]
    assert confirmed["supersedes"] == old
    assert runlore.inspect(old)["superseded_by"] == new
    assert runlore.state(old) == "superseded"


@pytest.mark.req("LAY-1", "REC-4")
def test_rejecting_tombstones_and_keeps_what_was_active(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim")
    new = runlore.propose("editor", "helix")

    runlore.json("memory", "review", "reject", new, "--reason", "no")

    assert (runlore.state(new), runlore.state(old)) == ("tombstoned rejected", "active")
    assert runlore.items("memory", "history", new)[-1]["reason"] == "no"


@pytest.mark.req("LAY-1")
def test_two_proposals_for_one_key_are_shown_as_rivals_and_only_one_is_taken_as_shown(
    runlore: Runlore,
) -> None:
    first, second = runlore.propose("editor", "vim"), runlore.propose("editor", "helix")
    assert {item["record_id"]: item["rivals"] for item in waiting(runlore)} == {
        first: [second],
        second: [first],
    }
    runlore.confirm(first)
    before = runlore.contents()

    failure = runlore.fails("memory", "review", "confirm", second)

    assert (failure.exit_code, failure.code) == (6, "review.changed")
    assert f"--supersedes {first}" in failure.problem["hint"]
    assert runlore.contents() == before
    (item,) = waiting(runlore)
    assert item["obstacles"][0]["code"] == "review.changed"
    assert f"would be refused: {item['obstacles'][0]['detail']}" in runlore.text("memory", "review", "list")
    assert runlore.confirm(second, "--supersedes", first)["supersedes"] == first


@pytest.mark.req("LRN-5")
def test_a_duplicate_ends_as_one_and_the_original_is_the_answer(runlore: Runlore) -> None:
    original = runlore.learn("Project codename is Atlas")
    repeated = runlore.find("project codename: atlas")
    assert waiting(runlore)[0]["would_duplicate"] == original
    assert f"says the same as {original}" in runlore.text("memory", "review", "list")

    shown = runlore.text("memory", "review", "confirm", repeated)

    assert shown == f"{repeated} says the same as {original} and ends as its duplicate.\n"
    ended = runlore.inspect(repeated)
    assert (ended["state"], ended["state_reason"]) == ("tombstoned", "duplicate")
    assert ended["duplicate_of"] == original


@pytest.mark.req("LRN-5")
def test_a_confirmed_duplicate_answers_with_the_original(runlore: Runlore) -> None:
    original = runlore.learn("Project codename is Atlas")

    assert runlore.confirm(runlore.find("the project codename = Atlas"))["record_id"] == original


@pytest.mark.req("LRN-6", "LRN-7")
def test_a_conflict_is_refused_until_the_replaced_record_is_named(runlore: Runlore) -> None:
    old = runlore.learn("The codename is Atlas")
    new = runlore.find("The codename is Borealis")
    before = runlore.contents()

    failure = runlore.fails("memory", "review", "confirm", new)

    assert (failure.exit_code, failure.code) == (6, "review.conflict")
    assert f"{new} contradicts {old}" in failure.problem["detail"]
    assert f"--supersedes {old}" in failure.problem["hint"]
    assert runlore.contents() == before
    (item,) = waiting(runlore)
    assert [obstacle["code"] for obstacle in item["obstacles"]] == ["review.conflict"]

    confirmed = runlore.confirm(new, "--supersedes", old)

    assert (confirmed["record_id"], confirmed["supersedes"]) == (new, old)
    assert confirmed["verification_status"] == "unverified"
    assert runlore.state(old) == "superseded"


@pytest.mark.req("LRN-6")
def test_a_negated_statement_conflicts_with_the_plain_one(runlore: Runlore) -> None:
    runlore.learn("The build server is fast")

    assert (
        runlore.fails("memory", "review", "confirm", runlore.find("The build server is not fast")).code
        == "review.conflict"
    )


@pytest.mark.req("LRN-7")
def test_a_record_of_another_scope_cannot_be_superseded(runlore: Runlore) -> None:
    elsewhere = runlore.prefer("editor", "vim", "--scope", "project:acme")
    new = runlore.propose("editor", "helix")

    failure = runlore.fails("memory", "review", "confirm", new, "--supersedes", elsewhere)

    assert (failure.exit_code, failure.code) == (6, "review.supersedes")
    assert "project:acme" in failure.problem["detail"]
    assert runlore.state(elsewhere) == "active"


@pytest.mark.req("LRN-13", "LAY-1")
def test_a_confirmation_may_change_the_text(runlore: Runlore) -> None:
    record_id = runlore.propose("editor", "vmi")

    confirmed = runlore.confirm(record_id, "--summary", "editor: vim")

    assert (confirmed["summary"], confirmed["metadata"]["value"]) == ("editor: vim", "vim")
    assert runlore.items("memory", "search", "vim")[0]["record_id"] == record_id


@pytest.mark.req("REC-10")
def test_an_act_on_the_expected_revision_goes_through(runlore: Runlore) -> None:
    record_id = runlore.propose("editor", "vim")

    assert runlore.confirm(record_id, "--expected-revision", "1")["revision"] == 2
    assert runlore.json("memory", "rollback", record_id, "--expected-revision", "2")["revision"] == 3


@pytest.mark.req("LAY-1", "LAY-3")
def test_a_rollback_says_what_can_be_restored_and_restore_does_it(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim")
    new = runlore.prefer("editor", "helix")

    answer = runlore.json("memory", "rollback", new, "--reason", "a mistake")

    assert (answer["state"], answer["state_reason"]) == ("tombstoned", "rolled_back")
    assert [record["record_id"] for record in answer["restorable"]] == [old]
    assert (answer["restored"], answer["not_restorable"], answer["supersedes"]) == ([], [], old)
    assert runlore.state(old) == "superseded"
    assert runlore.text("memory", "restore", old) == f"Restored {old}: editor: vim\n"
    assert runlore.state(old) == "active"
    assert runlore.inspect(old)["superseded_by"] is None


@pytest.mark.req("LAY-1", "LAY-3")
def test_a_rollback_can_restore_at_once(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim")
    new = runlore.prefer("editor", "helix")

    shown = runlore.text("memory", "rollback", new, "--restore")

    assert [" ".join(line.split()) for line in shown.splitlines()] == [
        f"Rolled back {new} editor: helix",
        f"restored {old} editor: vim",
    ]
    assert (runlore.state(new), runlore.state(old)) == ("tombstoned rolled_back", "active")


@pytest.mark.req("LAY-3")
def test_nothing_is_restored_while_something_active_replaces_it(runlore: Runlore) -> None:
    first, second, third = (runlore.prefer("editor", value) for value in ("vim", "helix", "emacs"))

    failure = runlore.fails("memory", "restore", first)

    assert (failure.exit_code, failure.code) == (6, "restore.replaced")
    assert third in failure.problem["detail"]
    answer = runlore.json("memory", "rollback", third)
    assert [record["record_id"] for record in answer["restorable"]] == [second]
    other = runlore.prefer("editor", "nano")
    assert runlore.fails("memory", "restore", second).code == "restore.replaced"
    assert runlore.state(other) == "active"


@pytest.mark.req("LAY-3")
def test_a_compaction_is_shown_proposed_and_confirmed_with_its_sources(runlore: Runlore) -> None:
    sources = [runlore.learn(text, *QUEUE) for text in LIKE]
    runlore.learn("Borealis ships a terminal client", "--topic-tag", "cli")
    before = runlore.contents()
    (possible,) = compact(runlore)
    assert runlore.contents() == before
    assert (possible["status"], possible["sources"]) == ("possible", sources)
    shown = runlore.text("memory", "semantic", "compact")
    assert all(f"  from {source}" in shown for source in sources)

    made = runlore.json("memory", "semantic", "compact", "--create-proposals")

    (proposal,) = made["records"]
    assert (made["count"], made["items"][0]["status"]) == (1, "proposed")
    assert (proposal["state"], proposal["proposal"]) == ("constrained", "compaction")
    assert proposal["metadata"]["compacted_from"] == sources
    (item,) = waiting(runlore)
    assert [record["record_id"] for record in item["would_supersede"]] == sources
    confirmed = runlore.confirm(proposal["record_id"])
    assert (confirmed["state"], confirmed["supersedes"]) == ("active", sources[0])
    for text in LIKE:
        assert text in confirmed["summary"]
    for source in sources:
        assert runlore.inspect(source)["superseded_by"] == proposal["record_id"]


@pytest.mark.req("LAY-3")
def test_a_set_of_sources_is_proposed_once_and_remembered_when_it_was_rejected(runlore: Runlore) -> None:
    for text in LIKE:
        runlore.learn(text, *QUEUE)
    (first,) = runlore.json("memory", "semantic", "compact", "--create-proposals")["records"]
    again = runlore.json("memory", "semantic", "compact", "--create-proposals")
    assert (again["count"], again["items"][0]["status"]) == (0, "waiting")
    assert again["items"][0]["proposal_id"] == first["record_id"]
    assert len(waiting(runlore)) == 1

    runlore.json("memory", "review", "reject", first["record_id"])

    rejected = runlore.json("memory", "semantic", "compact", "--create-proposals")
    assert (rejected["count"], rejected["items"][0]["status"]) == (0, "rejected before")
    assert waiting(runlore) == []
    runlore.learn("Atlas agents also take planning tasks from a second queue", *QUEUE)
    assert runlore.json("memory", "semantic", "compact", "--create-proposals")["count"] == 1


@pytest.mark.req("LAY-3")
def test_sources_that_changed_since_the_proposal_stop_its_confirmation_whole(runlore: Runlore) -> None:
    kept, changed = (runlore.learn(text, *QUEUE) for text in LIKE)
    (proposal,) = runlore.json("memory", "semantic", "compact", "--create-proposals")["records"]
    runlore.json("memory", "rollback", changed)
    before = runlore.contents()

    failure = runlore.fails("memory", "review", "confirm", proposal["record_id"])

    assert (failure.exit_code, failure.code) == (6, "review.sources")
    assert f"{changed} is tombstoned" in failure.problem["detail"]
    assert runlore.contents() == before
    assert runlore.state(kept) == "active"
    assert waiting(runlore)[0]["obstacles"][0]["code"] == "review.sources"


@pytest.mark.req("LAY-3")
def test_rolling_back_a_compaction_brings_its_sources_back_where_asked(runlore: Runlore) -> None:
    sources = [runlore.learn(text, *QUEUE) for text in LIKE]
    (proposal,) = runlore.json("memory", "semantic", "compact", "--create-proposals")["records"]
    runlore.confirm(proposal["record_id"])

    answer = runlore.json("memory", "rollback", proposal["record_id"], "--restore")

    assert sorted(record["record_id"] for record in answer["restored"]) == sorted(sources)
    assert [runlore.state(source) for source in sources] == ["active", "active"]
    assert runlore.inspect(proposal["record_id"])["metadata"]["compacted_from"] == sources
    assert compact(runlore)[0]["status"] == "rolled back before"


@pytest.mark.req("LAY-4")
def test_duplicates_of_a_workflow_become_one_canonical_procedure(runlore: Runlore) -> None:
    weak = runlore.adopt("Deploy with the blue script", "deploy", "--confidence", "60")
    strong = runlore.adopt("Deploy with the green pipeline", "deploy", "--confidence", "90")
    runlore.adopt("Release notes come from the changelog", "release")
    (possible,) = dedup(runlore)
    assert set(possible["sources"]) == {weak, strong}

    (proposal,) = runlore.json("memory", "procedural", "dedup", "--create-proposals")["records"]
    assert (proposal["proposal"], proposal["metadata"]["canonical"]) == ("dedup", False)
    confirmed = runlore.confirm(proposal["record_id"])

    assert confirmed["summary"] == "Deploy with the green pipeline"
    assert (confirmed["metadata"]["workflow"], confirmed["metadata"]["canonical"]) == ("deploy", True)
    assert [runlore.state(record_id) for record_id in (weak, strong)] == ["superseded", "superseded"]
    answer = runlore.json("memory", "rollback", proposal["record_id"], "--restore")
    assert len(answer["restored"]) == 2


@pytest.mark.req("LAY-3", "LAY-4", "SCO-1")
def test_merges_stay_within_one_scope(runlore: Runlore) -> None:
    for scope in ("workspace", "project:acme"):
        for text in LIKE:
            runlore.learn(text, *QUEUE, "--scope", scope)

    assert {item["scope"]["kind"] for item in compact(runlore)} == {"workspace", "project"}
    (only,) = compact(runlore, "--scope", "project:acme")
    assert only["scope"] == {"kind": "project", "id": "acme"}


@pytest.mark.req("LAY-2")
def test_episodes_are_appended_and_nothing_rolls_them_back(runlore: Runlore) -> None:
    kinds = ("experiment", "failure", "scan", "promotion", "rollback", "run")
    for kind in kinds:
        metadata = json.dumps({"outcome": kind})
        added = runlore.json(
            "memory", "episode", "add", f"An {kind} ended", "--kind", kind, "--metadata", metadata
        )
        assert (added["layer"], added["kind"], added["state"]) == ("episodic", kind, "active")
        assert added["metadata"] == {"outcome": kind}
        assert runlore.fails("memory", "rollback", added["record_id"]).code == "record.layer-move"
    before = runlore.items("memory", "list", "--layer", "episodic")

    runlore.json("memory", "rollback", runlore.prefer("editor", "vim"))

    assert runlore.items("memory", "list", "--layer", "episodic") == before
    assert [record["kind"] for record in before] == list(reversed(kinds))


@pytest.mark.req("LRN-11")
def test_what_has_expired_is_gone_at_once_and_swept_by_the_next_command(runlore: Runlore) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=3)
    added = ("memory", "episode", "add", "The trial ran out", "--expires-at", soon.isoformat())
    record_id = runlore.json(*added)["record_id"]
    assert len(runlore.items("memory", "list")) == 1

    until(lambda: not runlore.items("memory", "list"))

    assert datetime.now(UTC) >= soon
    assert runlore.items("memory", "list") == []
    assert runlore.state(record_id) == "tombstoned expired"


@pytest.mark.req("TNT-3", "SUR-5")
def test_text_from_outside_needs_to_be_accepted(runlore: Runlore, other: Runlore, tmp_path: Path) -> None:
    other.learn("The codename is Atlas")
    runlore.prefer("editor", "vim")
    runlore.json("memory", "import", other.json("memory", "export")["path"])
    record_id = next(item["record_id"] for item in waiting(runlore) if item["layer"] == "semantic")
    before = runlore.contents()

    failure = runlore.fails("memory", "review", "confirm", record_id)

    assert (failure.exit_code, failure.code) == (2, "review.untrusted")
    assert "--accept-untrusted" in failure.problem["hint"]
    assert runlore.contents() == before
    assert "comes from outside" in runlore.text("memory", "review", "list")
    accepted = runlore.confirm(record_id, "--accept-untrusted")
    assert (accepted["state"], accepted["provenance"]["untrusted"]) == ("active", False)


@pytest.mark.req("LRN-14")
@pytest.mark.parametrize("is_blocked", [False, True])
def test_a_learning_to_look_at_is_offered_only_the_answers_that_are_taken(is_blocked: bool) -> None:
    blocked = Obstacle(code="review.conflict", sentence="it contradicts rec_2", hint="say that both hold")
    item = ops.ReviewItem(
        record=fact("The codename is Atlas"),
        outcome=Consequences(obstacles=(blocked,) if is_blocked else ()),
        attention=("it was called wrong",),
    )
    with redirect_stdout(StringIO()) as shown:
        show_review(ops.ReviewPage(items=(item,), next_cursor=None), {})

    assert ("--on-my-word" in shown.getvalue()) is not is_blocked
    assert ("say that both hold" in shown.getvalue()) is is_blocked
