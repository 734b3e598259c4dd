"""Walks through memory, sessions, skills and policies: what is shown there, and every act."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from runlore.config.settings import Settings
from runlore.domain.agent.approval import ApprovalId
from runlore.domain.run import RunId
from runlore.flow.outcomes import settle_outcomes
from tests.surfaces.agent_runs import MARKER, agent_api, session, started
from tests.surfaces.api_client import Api, Json, path_of
from tests.surfaces.api_filled import Filled
from tests.surfaces.console.test_keyboard import reach
from tests.surfaces.console.walks import (
    ask,
    mounts,
    open_run,
    publish,
    say,
    settle,
    skill_to_tidy,
    state,
    walking,
)
from tests.surfaces.rollout_things import SKILL, done, procedure, promote

pytestmark = pytest.mark.req("CON-8")


@pytest.mark.req("CON-2")
def test_a_record_is_found_traced_taken_back_and_forgotten(chromium: Browser, served: Api) -> None:
    """Its score has parts, its page tells how it came to be, what it replaced and which prompt it stood in;
    forgetting says first what would be erased."""
    old = publish(served, say(served, "The staging port is 8080"))
    new = say(served, "The staging port is 9090")
    settle(served)
    served.post(path_of("v1", "review", new, "confirm"), {"supersedes": old})
    open_run(served, "talk", "talk-1", "Which staging port do we use?")
    with walking(chromium, served) as walk:
        page = walk.page
        walk.go("memory")
        page.get_by_label("Search all that was stored").fill("staging port")
        walk.press("Enter")
        expect(page.locator(".legend")).to_contain_text("summary")
        expect(page.locator(".results .title")).to_have_text(["The staging port is 9090"])
        page.get_by_label("State").select_option("superseded")
        expect(page.locator(".results .title")).to_have_text(["The staging port is 8080"])
        page.get_by_label("State").select_option("")
        page.get_by_label("Looked at").fill("3")
        expect(page.get_by_text("as it was 3 days ago")).to_be_visible()
        expect(page.get_by_text("Nothing was found.")).to_be_visible()
        page.get_by_label("Looked at").fill("0")
        page.locator(".results .title").click()

        expect(page.locator(".timeline")).to_contain_text("propose")
        expect(page.locator(".lineage + ul")).to_contain_text("it replaced: ")
        expect(page.get_by_role("link", name="Which staging port do we use?")).to_be_visible()
        page.get_by_role("button", name="Take it back").click()
        expect(page.locator(".note")).to_contain_text("Taken back")
        assert (state(served, old), state(served, new)) == ("active", "tombstoned")

        walk.go(f"memory/{old}")
        page.get_by_role("button", name="Forget it…").click()
        expect(page.get_by_role("dialog")).to_contain_text("The staging port is 8080")
        page.get_by_role("button", name="Cancel").click()
        assert served.get(path_of("v1", "memory", "records", old))["summary"]
        page.get_by_role("button", name="Forget it…").click()
        page.get_by_role("button", name="Forget it", exact=True).click()
        expect(page.locator(".note")).to_have_text(re.compile("Forgotten"))
    assert not served.get(path_of("v1", "memory", "records", old))["summary"]


@pytest.mark.req("CON-2")
def test_the_lineage_of_a_record_goes_as_far_as_it_hangs_together(
    chromium: Browser, embedded_served: Api
) -> None:
    """Not only what stands next to it."""
    versions = [publish(embedded_served, say(embedded_served, "The staging port is 8080"))]
    for port in (9090, 7070):
        versions.append(say(embedded_served, f"The staging port is {port}"))
        settle(embedded_served)
        confirm = path_of("v1", "review", versions[-1], "confirm")
        embedded_served.post(confirm, {"supersedes": versions[-2]})
    with walking(chromium, embedded_served) as walk:
        for at, told in ((0, ("replaced it", "after that")), (2, ("it replaced", "before that"))):
            walk.go(f"memory/{versions[at]}")
            expect(walk.page.locator(".lineage + ul b")).to_have_text([f"{each}: " for each in told])
            expect(walk.page.locator(".lineage rect")).to_have_count(3)
            expect(walk.page.locator(".lineage line")).not_to_have_count(0)


@pytest.mark.req("CON-3")
def test_a_long_run_is_read_on(chromium: Browser, embedded_served: Api) -> None:
    """All that happened can be read, in pieces; a passage far down is found, and beside a claim in other
    words the sentence that says it is marked."""
    api = embedded_served
    open_run(api, "talk", "talk-1", "Which staging port do we use?")
    for begin in range(0, 1_200, 200):
        events = [
            {"type": "assistant_message", "text": f"Step {number} is done."}
            for number in range(begin, begin + 200)
        ]
        api.post(path_of("v1", "runs", "talk-1", "events"), {"events": events}, status=201)
    long = f"{'Nothing of it. ' * 900}As for staging, we use the port 8080 there. And so on."
    told = api.post(
        path_of("v1", "runs", "talk-1", "events"),
        {"events": [{"type": "assistant_message", "text": long}]},
        status=201,
    )
    api.post(path_of("v1", "runs", "talk-1", "finish"), {"status": "completed"})
    say(
        api,
        "The port of staging is 8080",
        evidence_refs=[{"run_id": "talk-1", "event_number": told["last_number"]}],
    )
    settle(api)
    with walking(chromium, api) as walk:
        page = walk.page
        page.locator(".items .item", has_text="The port of staging is 8080").click()
        expect(page.locator(".passage mark")).to_have_text("As for staging, we use the port 8080 there.")
        expect(page.locator(".passage mark")).to_be_in_viewport()
        walk.go("sessions/talk/talk-1")
        expect(page.locator(".timeline > li")).to_have_count(500)
        page.get_by_role("button", name="Read more").click()
        page.get_by_role("button", name="Read more").click()
        expect(page.locator(".timeline")).to_contain_text("As for staging")
        expect(page.get_by_role("button", name="Read more")).to_have_count(0)


@pytest.mark.req("CON-3")
def test_a_run_is_followed_and_what_it_asks_is_answered(chromium: Browser, served: Api) -> None:
    """Its page tells what its prompt was given, goes on as the journal does, and an approval is given there
    while the agent waits."""
    api = served
    publish(api, say(api, "The staging port is 8080"))
    open_run(api, "talk", "talk-1", "Which staging port do we use?")
    asked = ask(api, "talk", "talk-1")
    with walking(chromium, api) as walk:
        page = walk.page
        walk.go("sessions")
        page.get_by_role("link", name="talk").click()
        page.get_by_label("An input; it is not sent").fill("staging port?")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".section pre")).to_contain_text("The staging port is 8080")
        expect(page.get_by_text("Nothing was left out.")).to_be_visible()
        page.get_by_role("link", name="Which staging port do we use?").click()
        expect(page.locator(".section pre")).to_contain_text("The staging port is 8080")
        expect(page.locator(".asked .json")).to_contain_text("make deploy")
        page.get_by_role("button", name="Allow it").click()
        expect(page.locator(".asked")).to_have_count(0)
        assert str(api.operations.get_approval(ApprovalId(asked)).state) == "approved"
        events = {"events": [{"type": "assistant_message", "text": "You use port 8080."}]}
        api.post(path_of("v1", "runs", "talk-1", "events"), events, status=201)
        expect(page.locator(".timeline")).to_contain_text("You use port 8080.")
        api.post(path_of("v1", "runs", "talk-1", "finish"), {"status": "completed"})
        expect(page.locator(".badges")).to_contain_text("completed")
        events_at = page.locator(".timeline > li").evaluate_all("all => all.map((each) => each.offsetLeft)")
        assert len(events_at) > 2
        assert len(set(events_at)) == 1, "an event stands beside the others"


@pytest.mark.req("CON-3")
def test_an_agent_that_asks_goes_on_with_the_answer(
    chromium: Browser, stored: Settings, tmp_path: Path
) -> None:
    """Runlore's own agent waits for a person; the question appears on the open page, and what it does with
    the answer, too."""
    with agent_api(stored, mounts=mounts) as (api, _), walking(chromium, api) as walk:
        page = walk.page
        run_id = started(api, session(api, tmp_path), "?Which colour")
        walk.go(f"sessions/-/{run_id}")
        page.get_by_label("Your answer").fill("green")
        page.get_by_role("button", name="Answer").click()
        expect(page.locator(".timeline")).to_contain_text("It came to: green")
        expect(page.locator(".badges")).to_contain_text("completed")


@pytest.mark.req("CON-3")
def test_a_question_stays_as_it_is_while_its_answer_is_typed(chromium: Browser, embedded_served: Api) -> None:
    """Given that what the run asks for is read again meanwhile, what was typed is still there."""
    api = embedded_served
    open_run(api, "talk", "talk-1", "Deploy it")
    asked, other = ask(api, "talk", "talk-1", "Which port?"), ask(api, "talk", "talk-1")
    with walking(chromium, api) as walk:
        page = walk.page
        walk.go("sessions/talk/talk-1")
        page.get_by_label("Your answer").press_sequentially("80")
        page.get_by_role("button", name="Allow it").click()
        expect(page.get_by_role("button", name="Allow it")).to_have_count(0)
        page.get_by_label("Your answer").press_sequentially("80")
        expect(page.get_by_label("Your answer")).to_have_value("8080")
        page.get_by_role("button", name="Answer").click()
        expect(page.get_by_label("Your answer")).to_have_count(0)
    assert api.operations.get_approval(ApprovalId(asked)).answer == "8080"
    assert str(api.operations.get_approval(ApprovalId(other)).state) == "approved"


@pytest.mark.req("CON-4")
def test_suggestions_are_saved_and_skills_deleted_and_restored(chromium: Browser, served: Api) -> None:
    """A skipped suggestion comes back and is saved once it was read."""
    api = served
    filled = Filled(api)
    with walking(chromium, api) as walk:
        page = walk.page
        walk.go("skills")
        page.get_by_text("Skipped: 1 suggestion").click()
        page.get_by_role("button", name="Suggest it again").click()
        page.get_by_label("I have read it").check()
        page.get_by_role("button", name="Save it as a skill").click()
        expect(page.get_by_text("No suggestion waits.")).to_be_visible()

        walk.go("skills/library")
        page.get_by_role("link", name=filled.skill).click()
        page.get_by_role("button", name="Delete it").click()
        page.get_by_role("button", name="Restore it").click()
        expect(page.get_by_role("button", name="Delete it")).to_be_visible()


@pytest.mark.req("CON-4")
@pytest.mark.parametrize("by_mouse", [True, False])
def test_skills_are_tidied_up_and_it_is_undone(chromium: Browser, served: Api, *, by_mouse: bool) -> None:
    """What would be done is said before and listed after it; undone, the skill is as it was."""
    name = skill_to_tidy(served)
    skill = path_of("v1", "skills", name)
    before = served.get(skill)
    with walking(chromium, served) as walk:
        page = walk.page
        would = page.locator(".panel", has_text="What would be tidied up")
        done = page.locator(".panel", has_text="What was done")

        def use(control: str) -> None:
            if by_mouse:
                page.locator("main").get_by_text(control, exact=True).click()
            else:
                reach(page, control)
                walk.press("Enter")

        walk.press("g", "k")
        expect(page.locator("h1")).to_have_text("Skills")
        use("Curation")
        expect(would).to_contain_text(name)
        assert served.get(skill) == before
        use("Do it")
        expect(would).to_contain_text("Nothing")
        expect(done).to_contain_text(name)
        assert served.call("GET", skill).status == 404
        use("Undo it")
        expect(done.get_by_text("undone")).to_be_visible()
        assert {**served.get(skill), "revision": 0} == {**before, "revision": 0}


@pytest.mark.req("CON-4")
def test_a_procedure_goes_to_a_skill_out_of_use_and_back(
    chromium: Browser, stored: Settings, tmp_path: Path
) -> None:
    """Each step is taken where its evidence allows it; what is refused says why, and changes nothing."""
    with agent_api(stored, mounts=mounts) as (api, _), walking(chromium, api) as walk:
        page = walk.page
        promote(api, procedure(api))
        promote(api, str(done_skill(api)["source_record_id"]), instructions="Run the tests. Tag and push it.")
        walk.go("skills/rollout")
        page.get_by_role("link", name=SKILL).click()
        expect(page.locator(".beside .added")).to_have_text("Run the tests. Tag and push it.")
        expect(page.locator(".beside .removed")).to_have_text("Run the tests. Tag it.")
        page.get_by_role("button", name="On to verified").click()
        expect(page.locator(".note.bad")).to_be_visible()
        record(api, "verification", working_folder=str(tmp_path))
        page.reload()
        page.get_by_role("button", name="On to verified").click()
        page.get_by_label("Percent of sessions").fill("100")
        page.get_by_role("button", name="On to canary").click()
        expect(page.locator(".facts")).to_contain_text("100 % of sessions")
        record(api, "canary", session_id=session(api, tmp_path))
        page.reload()
        expect(page.locator(".facts")).to_contain_text("1 of 1 succeeded, 100 %")
        page.get_by_role("button", name="On to active").click()
        expect(page.locator("h2 .badge").first).to_have_text("active")
        page.get_by_role("button", name="Revoke it…").click()
        page.get_by_role("button", name="Revoke it", exact=True).click()
        expect(page.locator("h2 .badge").first).to_have_text("revoked")
        page.get_by_role("button", name="Roll back").click()
        expect(page.locator("h2 .badge").first).to_have_text("active")
        assert done_skill(api)["status"] == "active"


def done_skill(api: Api) -> Json:
    return api.get(path_of("v1", "learning-skills", SKILL))


def record(api: Api, kind: str, **where: str) -> None:
    """The result of a trial, which the model ends well."""
    run = done(api, "trial", {"input": "Release 1.2", "wait": True, **where}, status=201)
    told = {"kind": kind, "run_id": run["run_id"], "expected_output_contains": MARKER}
    done(api, "rollout-result", told)


@pytest.mark.req("CON-5")
def test_a_policy_is_tried_put_and_rolled_back(chromium: Browser, served: Api) -> None:
    """A mistake is told at its field, the dry run stands beside what is in force, and what was comes back."""
    api = served
    say(api, "The staging port is 8080")
    settle(api)
    with walking(chromium, api) as walk:
        page = walk.page
        walk.go("policy")
        expect(page.get_by_text("How far automation goes")).to_be_visible()
        page.get_by_label("default action").select_option("reject")
        page.get_by_role("button", name="What would it do?").click()
        expect(page.get_by_role("heading", name="it would differ 1 time")).to_be_visible()
        expect(page.locator(".added")).to_contain_text("reject")
        page.get_by_label("holdback percent").fill("900")
        page.get_by_role("button", name="What would it do?").click()
        expect(page.get_by_label("holdback percent")).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".field .error:visible")).to_contain_text("projection.holdback_percent")
        page.get_by_label("holdback percent").fill("0")
        page.get_by_role("button", name="Put it in force").click()
        expect(page.locator(".note")).to_contain_text("Revision 1 is in force")
        page.get_by_label("default action").select_option("manual_review")
        page.get_by_role("button", name="Put it in force").click()
        expect(page.get_by_text("Revision 2", exact=True)).to_be_visible()
        page.get_by_text("What it changed").first.click()
        expect(page.locator(".section .added").first).to_contain_text("manual_review")
        page.get_by_role("button", name="Go back to it").click()
        expect(page.get_by_text("Revision 3", exact=True)).to_be_visible()
        expect(page.get_by_label("default action")).to_have_value("reject")
        walk.go("policy/retention")
        expect(page.get_by_text("How long the words of journals are kept.")).to_be_visible()
    assert api.get("/v1/policies/learning")["policy"]["publication"]["default_action"] == "reject"


@pytest.mark.req("CON-5")
def test_rules_are_written_in_forms_of_their_own(chromium: Browser, embedded_served: Api) -> None:
    """A mistake is told at the field of the rule that has it; rules are moved and taken out, and what was not
    touched is put as it was."""
    api = embedded_served
    before: Json = {
        "publication": {
            "rules": [{"name": "late", "action": "reject", "expires_after_days": 30}],
            "witnesses": ["outcomes"],
        },
        "projection": {"never_held_back": ["rec_1", "rec_2"]},
    }
    api.call("PUT", "/v1/policies/learning", {"policy": before})
    put = api.get("/v1/policies/learning")["policy"]
    with walking(chromium, api) as walk:
        page = walk.page
        walk.go("policy")
        page.get_by_role("button", name="Add a rule").click()
        expect(page.locator("fieldset", has=page.locator("legend:text-is('rule 2')")).last).to_be_visible()
        page.get_by_label("name", exact=True).nth(1).fill("facts")
        page.get_by_label("action", exact=True).nth(1).select_option("publish_active")
        page.get_by_role("button", name="What would it do?").click()
        kind = page.get_by_label("kind", exact=True)
        expect(kind.nth(1)).to_have_attribute("aria-invalid", "true")
        expect(kind.nth(0)).not_to_have_attribute("aria-invalid", "true")
        kind.nth(1).select_option("fact")
        page.get_by_role("button", name="Move it up").click()
        expect(page.get_by_label("name", exact=True).first).to_be_focused()
        page.get_by_role("button", name="Put it in force").click()
        expect(page.locator(".note")).to_contain_text("Revision 2 is in force")
        told = api.get("/v1/policies/learning")["policy"]
        assert [each["name"] for each in told["publication"]["rules"]] == ["facts", "late"]
        page.get_by_role("button", name="Take it out").first.click()
        page.get_by_role("button", name="Put it in force").click()
        expect(page.locator(".note")).to_contain_text("Revision 3 is in force")
    assert api.get("/v1/policies/learning")["policy"] == put


@pytest.mark.req("CON-5")
def test_the_overview_tells_what_was_learned_asked_and_how_fast(chromium: Browser, served: Api) -> None:
    api = served
    publish(api, say(api, "The staging port is 8080"))
    open_run(api, "talk", "talk-1", "Which staging port do we use?")
    with walking(chromium, api) as walk:
        page = walk.page
        walk.go("overview")
        expect(page.locator(".figures")).to_contain_text("learned this week1")
        expect(page.locator(".panel", has_text="What memory is worth")).to_contain_text(
            "The staging port is 8080"
        )
        answered = page.locator(".panel", has_text="How fast it answers").locator("tbody tr")
        expect(answered.filter(has_text="GET /v1/inbox")).to_contain_text(re.compile(r"[1-9].* m?s.* m?s"))


@pytest.mark.req("VAL-3", "VAL-4")
def test_the_worth_of_learnings_and_skills_leads_to_them_and_a_run_tells_how_it_went(
    chromium: Browser, embedded_served: Api
) -> None:
    api, store = embedded_served, embedded_served.service.parts.store
    publish(api, say(api, "The staging port is 8080"))
    folder = Path(api.service.parts.state_root) / "skills" / SKILL
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {SKILL}\ndescription: How to release\n---\n\nTag it.\n")
    skill_id = api.get(path_of("v1", "skills", SKILL))["skill_id"]
    open_run(api, "talk", "talk-1", "Which staging port do we use?")
    call = {"type": "tool_call", "call_id": "c1", "name": "shell", "arguments": {"command": "curl :8080"}}
    failed = {"type": "tool_result", "call_id": "c1", "output": "no", "exit_code": 7}
    api.post(path_of("v1", "runs", "talk-1", "events"), {"events": [call, failed]}, status=201)
    api.post(path_of("v1", "runs", "talk-1", "finish"), {"status": "completed"})
    with store.transaction() as tx:
        receipt = tx.runs.get_receipt(RunId("talk-1"))
        assert receipt is not None
        tx.runs.put_receipt(replace(receipt, skills=(skill_id,)))
    with walking(chromium, api) as walk:
        page = walk.page
        walk.go("sessions/talk/talk-1")
        went = page.locator("dt", has_text="How it went").locator("+ dd")
        expect(went).to_have_text("known a day after it has ended")
        settle_outcomes(store, api.service.parts.clock.now() + timedelta(days=2), limit=9)
        walk.go("overview")
        rows = page.locator(".panel", has_text="What memory is worth").locator("tbody tr")
        expect(rows.filter(has_text="staging port").locator("td")).to_have_text(
            ["The staging port is 8080", "1", "1", "0", "-", "too few runs"]
        )
        rows.get_by_role("link", name=f"skill {SKILL}").click()
        expect(page.locator("h2.name")).to_have_text(SKILL)
        walk.go("sessions/talk/talk-1")
        expect(went).to_have_text("80 of 100 points, failed calls -20")
