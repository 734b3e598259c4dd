"""Standing rules: first in every prompt of their scope, whatever it is about, in a third of the room."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given as having
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Conflict, Denied, Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.projection import Omitted, Receipt
from runlore.domain.prompts.token_budget import pack_standing
from runlore.domain.record import Kind, Record, RecordId, Sensitivity, VerificationStatus
from runlore.domain.records.audit import replay
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.statements.conduct import is_rule_of_conduct
from runlore.ports import operations as ops
from tests.builders import ACME, preference
from tests.flow.learning_acts import candidate, publish, supersede
from tests.flow.learnings import TALK, learn, learned, preview
from tests.world import World, decision

pytestmark = pytest.mark.req("PRJ-6")

ELSEWHERE = "Why is the invoice import slow?"
RULE = "Always format dates as YYYY-MM-DD"


def rule(world: World, text: str = RULE, *, scope: Scope = WORKSPACE, **fields: Any) -> Record:
    """A rule that an operator let stand."""
    made = preference(text, "yes", scope=scope, created_at=world.clock.now())
    return learn(world, replace(made, summary=text, **fields), standing=True)


def given_in(world: World, text: str = ELSEWHERE) -> list[RecordId]:
    sections = preview(world, text).sections
    return [RecordId(entry.source_id) for section in sections for entry in section.entries]


def opened(world: World, text: str = ELSEWHERE) -> tuple[Receipt, str]:
    """What a run was given, and its section told again."""
    run = world.operator.open_run(ops.NewRun(session_id=TALK, request=text, context=True)).run
    view = world.operator.receipt(run.run_id)
    assert view.receipt is not None
    assert all(section.exact for section in view.sections)
    return view.receipt, "".join(section.text for section in view.sections)


def test_a_rule_stands_in_every_prompt_of_its_scope_before_what_the_input_finds(world: World) -> None:
    world.session(project_ids=("acme",))
    world.session("other")
    found = learn(world, "The invoice import reads CSV")
    stands = rule(world, scope=ACME)
    learn(world, preference("dates", "as they come", scope=ACME))

    assert given_in(world) == [stands.record_id, found.record_id]
    assert given_in(world, "Hello") == learned(world, "Hello") == [stands.record_id]
    assert learned(world, ELSEWHERE) == [stands.record_id, found.record_id]
    assert learned(world)[0] == stands.record_id
    receipt, text = opened(world)
    entry = receipt.sections[0].entries[0]
    assert (entry.source_id, entry.standing, entry.score) == (stands.record_id, True, None)
    assert f"[{stands.record_id} · preference · project:acme · standing]" in text
    goal = world.operator.goal_context(ops.GoalRequest(goal=ELSEWHERE, session_id=TALK))
    assert [each.record_id for each in goal.standing] == [stands.record_id]
    assert learned(world, "Hello", session_id="other") == []


def test_no_more_rules_stand_in_a_scope_than_its_prompts_read(world: World) -> None:
    world.session(project_ids=("acme",))
    most = limits.STANDING_RULES_MAX
    stand = [rule(world, f"Always name number {number}", scope=ACME) for number in range(most)]
    waits = candidate(world.operator, "Always add one more", kind=Kind.PREFERENCE, scope=ACME)
    lies = learn(world, preference("another", "yes", scope=ACME))

    acts: list[Callable[[], Record]] = [
        lambda: publish(world, waits, standing=True),
        lambda: world.operator.set_standing(ops.Decision(record_id=lies.record_id, reason="a rule")),
    ]
    for one_more in acts:
        with pytest.raises(Conflict) as refused:
            one_more()
        assert refused.value.code == "record.standing-full"
    assert {each.record_id for each in stand} <= set(learned(world))
    rule(world, "Always say please")

    # What replaces a rule stands in its place, and one that stands no longer leaves its own.
    supersede(world, stand[0], "Always name number nought")
    world.operator.set_standing(ops.Decision(record_id=stand[1].record_id, reason="no rule", standing=False))
    publish(world, waits, standing=True)


def test_visibility_still_decides_what_stands(world: World) -> None:
    world.session(project_ids=("acme",))
    until = world.clock.now() + timedelta(seconds=1)
    expiring = rule(world, "Always answer in German", expires_at=until)
    rule(world, "Never name the customer", sensitivity=Sensitivity.SENSITIVE)
    failed = replace(preference("tone", "polite"), scope=WORKSPACE)
    learn(world, failed, standing=True, verification_status=VerificationStatus.FAILED)
    wide = learn(world, preference("date format", "ISO", scope=WORKSPACE), standing=True)
    assert learned(world, "Hello") == [expiring.record_id, wide.record_id]

    narrow = learn(world, preference("date format", "German", scope=ACME), standing=True)
    assert learned(world, "Hello") == [narrow.record_id, expiring.record_id]
    world.operator.revoke(decision(narrow))
    world.clock.advance(seconds=1)
    assert learned(world, "Hello") == [wide.record_id]
    world.operator.revoke(decision(wide))
    assert learned(world, "Hello") == []


def test_rules_take_a_third_of_the_budget_and_what_does_not_fit_is_counted_and_told(world: World) -> None:
    world.session()
    found = learn(world, "The invoice import reads CSV")
    rules = [rule(world, f"Always greet customer number {number} by name") for number in range(30)]
    budget = 600
    policy = {"projection": {"budget_tokens": budget, "max_entries": 40}}
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))

    receipt, _ = opened(world)

    section, spent = receipt.sections[0], receipt.budget.sections[0]
    standing = [entry for entry in section.entries if entry.standing]
    frame = section.tokens - sum(entry.tokens for entry in section.entries)
    assert spent.standing_tokens == sum(entry.tokens for entry in standing)
    assert 0 < spent.standing_tokens + frame <= budget // 3
    assert section.entries[-1].source_id == found.record_id
    left_out = {each.source_id for each in receipt.omissions if each.reason is Omitted.OVER_STANDING}
    assert left_out == {each.record_id for each in rules} - {entry.source_id for entry in standing}
    assert left_out
    assert world.counters()["session_memory.prompt_limit_omitted_total"] == len(left_out)
    # What does not fit there is found by its words as ever.
    asked = given_in(world, "customer number 29 by name")
    assert rules[29].record_id in asked[len(standing) :]


def test_rules_leave_a_third_of_the_entries_to_what_the_input_finds(world: World) -> None:
    world.session()
    for number in range(10):
        rule(world, f"Never do {number}")
        learn(world, f"The invoice import reads table {number}")
    world.operator.put_policy(
        ops.PolicyChange(name=PolicyName.LEARNING, policy={"projection": {"max_entries": 6}})
    )
    entries = preview(world, ELSEWHERE).sections[0].entries
    assert [entry.standing for entry in entries] == [True] * 4 + [False] * 2
    assert len(preview(world, "Hello").sections[0].entries) == 6


@having(
    st.lists(st.integers(1, 50), max_size=8),
    st.integers(0, 40),
    st.integers(0, 300),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_rules_never_take_more_than_their_part(
    costs: list[int], frame: int, room: int, most: int, others: int
) -> None:
    packed = pack_standing(costs, frame, room, entries_max=most, others=others)
    assert packed.used == (frame + sum(costs[place] for place in packed.taken) if packed.taken else 0)
    assert packed.used <= room // 3
    assert len(packed.taken) + min(others, most // 3) <= most


def test_a_rule_older_than_all_that_is_looked_at_stands_too(world: World) -> None:
    world.session()
    stands = rule(world)
    for number in range(300):
        world.clock.advance(milliseconds=1)
        learn(world, f"The shelf {number} is blue")
    assert learned(world, "Hello") == [stands.record_id]
    moment = world.clock.now()
    world.clock.advance(seconds=1)
    world.operator.set_standing(replace(decision(stands), standing=False))
    assert learned(world, "Hello") == []
    assert learned(world, "Hello", as_of=moment) == [stands.record_id]
    history = world.operator.history(stands.record_id)
    assert [replay(history[:number]).standing for number in (1, 2, 3)] == [False, True, False]


def test_an_operator_sets_it_and_nobody_else(world: World) -> None:
    world.session()
    waits = candidate(world.operator, RULE, kind=Kind.PREFERENCE)
    acts: tuple[Callable[[], object], ...] = (
        lambda: world.agent.publish(ops.Publication(record_id=waits.record_id, standing=True)),
        lambda: world.agent.confirm(replace(decision(waits), standing=True)),
        lambda: world.agent.set_standing(replace(decision(waits), standing=True)),
    )
    for act in acts:
        with pytest.raises(Denied):
            act()
    listed = world.operator.review_list(ops.ReviewRequest()).items
    assert [item.offers_standing for item in listed] == [True]
    item = world.operator.inbox(ops.InboxRequest()).items[0]
    assert ops.InboxAct.STANDING in item.acts

    stands = publish(world, waits, standing=True)
    assert stands.standing
    assert publish(world, waits, standing=True) == stands
    assert [r.record_id for r in world.operator.list_learnings(only_standing()).items] == [stands.record_id]
    # What replaces it stands in its place; what says the same again leaves it so.
    after = supersede(world, stands, "Always format dates as DD.MM.YYYY")
    assert after.standing
    assert learned(world, "Hello") == [after.record_id]
    again = candidate(world.operator, after.summary, kind=Kind.PREFERENCE)
    assert publish(world, again).standing


def only_standing() -> ops.LearningRequest:
    return ops.LearningRequest(filters=ops.LearningFilters(standing=True))


def test_only_a_preference_or_a_decision_can_stand(world: World) -> None:
    world.session()
    waits = candidate(world.operator, "The codename is Atlas")
    with pytest.raises(Invalid) as refused:
        publish(world, waits, standing=True)
    assert refused.value.code == "record.standing"
    assert publish(world, waits, kind=Kind.DECISION, standing=True).standing
    known = publish(world, candidate(world.operator, "The port is 80"))
    with pytest.raises(Invalid):
        world.operator.set_standing(replace(decision(known), standing=True))


def test_a_duplicate_that_is_to_stand_lets_the_original_stand(world: World) -> None:
    world.session()
    again = candidate(world.operator, RULE, kind=Kind.DECISION)
    first = learn(world, replace(again, record_id=RecordId("rec_first")))
    kept = publish(world, again, standing=True)
    assert (kept.record_id, kept.standing) == (first.record_id, True)
    assert publish(world, again, standing=True) == kept


@pytest.mark.parametrize(
    ("text", "is_rule"),
    [
        ("Always format dates as YYYY-MM-DD.", True),
        ("Never push to main without asking.", True),
        ("Keep answers short.", True),
        ("I prefer concise answers without lists.", True),
        ("Commits must be signed.", True),
        ("Antworte immer auf Deutsch.", True),
        ("Réponds toujours en français.", True),
        ("Every pull request needs a changelog entry.", True),
        ("Whenever you edit SQL, check the query plan.", True),
        ("Only merge with two approvals.", True),
        ("We agreed that nobody force-pushes to shared branches.", True),
        ("Comments should explain why, not what.", True),
        ("You should quote file paths in backticks.", True),
        ("I like tables more than long lists.", True),
        ("The user wants to see the diff before anything is committed.", True),
        ("Dates are written as YYYY-MM-DD, in code and in prose.", True),
        ("We don't commit commented-out code.", True),
        ("Check the existing code for a helper before writing a new one.", True),
        ("Always cite the file and the line when you make a claim about the code.", True),
        ("When unsure, ask instead of guessing.", True),
        ("Only use metric units.", True),
        ("Quote sources with a link.", True),
        ("Erst die Tests, dann der Code.", True),
        ("We deploy on Fridays.", False),
        ("The mobile app must ship with offline mode in June.", False),
        ("The login form must be redesigned before the launch.", False),
        ("Customers prefer invoices as PDF.", False),
        ("I prefer my coffee black.", False),
        ("We have to renew the certificate by the end of May.", False),
        ("Keep going and make your dreams a reality!", False),
        ("Logs of the proxy are kept for ninety days.", False),
        ("Ich bevorzuge das blaue Logo.", False),
        ("Use port 8081 for this demo.", False),
        ("Keep the old table until the migration is done.", False),
        ("Add a retry to the upload in sync.py.", False),
        ("Remember that the demo is at four.", False),
        ("She said you should never trust the cache.", False),
        ("I like jazz and long walks.", False),
        ("My manager prefers Teams over Slack.", False),
        ("The button should be green on the landing page.", False),
        ("The build always fails on Windows.", False),
        ("My favourite colour is blue.", False),
        ("For now skip the linter.", False),
        ("Could you fix this test?", False),
    ],
)
def test_a_rule_of_conduct_is_told_from_what_is_so_and_from_an_errand(text: str, is_rule: bool) -> None:
    assert is_rule_of_conduct(text) is is_rule
