"""Skills learned from transcripts, over HTTP beside the same from inside."""

from dataclasses import replace
from typing import Any

from runlore.domain.detectors.match import Heuristic
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.runs.transcript import Position
from runlore.domain.session import SessionId
from runlore.domain.skill import SkillOrigin, SkillState, SuggestionId
from runlore.domain.skills.skill_curation import CurationId
from runlore.domain.suggestion import SuggestionState
from runlore.ports import operations as ops
from tests.surfaces.client_both import Both
from tests.surfaces.skill_files_of import skill_md
from tests.surfaces.skill_runs import SOURCE, to_import, told_run


def skills(both: Both) -> None:
    """Runs brought in, what they suggest, and what is decided about it."""
    once = to_import(told_run(1), told_run(2), idempotency_key="k/é")
    brought = both.do("import_runs", once)
    assert (brought.stored, brought.known, brought.sessions) == (2, 0, 1)
    assert both.read("import_runs", once) == brought
    assert both.read("import_runs", replace(once, idempotency_key=None)).known == 2
    unsure = told_run(3, is_whole=False, title="Releases ✓", branch="main", model="m", agent_version="2")
    assert both.read("import_runs", to_import(unsure)).stored == 0
    told = both.read("transcript_positions", [SOURCE, "none", "", "\0", "é" * 900])
    assert told == {SOURCE: Position(offset=200, line=2, fingerprint="f", carried={"runs": 2})}
    watched: list[tuple[int, int]] = []
    found = both.do("suggest", ops.SuggestRequest(enhance=True), progress=lambda *done: watched.append(done))
    # Beside the two that were brought in stands a run that was reported.
    assert (found.runs, found.sessions, found.seen_again) == (3, 2, 0)
    assert watched[-1] == (found.sessions, found.sessions)
    plan = both.read("plan_reading", ops.ReadingPlanRequest(texts=True))
    assert (plan.requests, len(plan.texts), plan.problem) == (1, 1, "")
    # No model answers here.
    assert both.fail("read_sessions").code.startswith("model.")
    both.called.add("read_sessions")
    suggestions(both, found)
    assert both.read("suggest", ops.SuggestRequest()).new == ()
    library(both, found)
    curation(both)


def suggestions(both: Both, found: ops.SuggestAnswer) -> None:
    """What was suggested, listed and decided on."""
    first, other = found.new
    waiting = both.read("list_suggestions", ops.SuggestionsRequest())
    assert set(waiting.items) == {first, other}
    page = both.read("list_suggestions", ops.SuggestionsRequest(limit=1))
    rest = both.read("list_suggestions", ops.SuggestionsRequest(limit=1, cursor=page.next_cursor))
    assert (*page.items, *rest.items, rest.next_cursor) == (*waiting.items, None)
    skipped = both.do("skip_suggestion", first.suggestion_id)
    assert (skipped.state, skipped.state_actor) == (SuggestionState.SKIPPED, "operator")
    for states, heuristics, expected in (
        ({SuggestionState.SKIPPED}, set(), {skipped}),
        (
            set(SuggestionState),
            {first.suggestion.heuristic},
            {each for each in (skipped, other) if each.suggestion.heuristic is first.suggestion.heuristic},
        ),
        (set(SuggestionState), {Heuristic.CROSS_SESSION, Heuristic.USER_CORRECTION}, set()),
    ):
        asked = ops.SuggestionsRequest(states=frozenset(states), heuristics=frozenset(heuristics))
        assert set(both.read("list_suggestions", asked).items) == expected
    assert both.read("get_suggestion", first.suggestion_id) == skipped
    assert both.read("get_suggestion", first.suggestion.name) == skipped
    assert both.do("reset_suggestion", first.suggestion_id).state is SuggestionState.WAITING


def library(both: Both, found: ops.SuggestAnswer) -> None:
    """A suggestion kept as a skill, one brought in and promoted, both matched and used, one taken away."""
    first, other = found.new
    # What these runs did brings text of others in.
    assert both.fail("save_skill", ops.SaveSkill(suggestion=first.suggestion.name)).code == "skill.tainted"
    once = ops.SaveSkill(suggestion=first.suggestion_id, accept_untrusted=True, idempotency_key="save/é")
    kept = both.do("save_skill", once)
    assert both.read("save_skill", once) == kept
    renamed = both.do(
        "save_skill",
        ops.SaveSkill(suggestion=other.suggestion.name, name="publish-it", accept_untrusted=True),
    )
    assert (kept.name, renamed.name) == (first.suggestion.name, "publish-it")
    brought = both.do("import_skill", ops.ImportSkill(text=skill_md(), source="a friend ✓", name="tidy-it"))
    assert (brought.name, brought.provenance.sources[0]) == ("tidy-it", "a friend ✓")
    both.fail("accept_skill", ops.AcceptSkill(name="tidy-it"))
    both.fail("use_skill", ops.UseSkill(name="tidy-it"))
    promoted = both.do("accept_skill", ops.AcceptSkill(name="tidy-it", force=True, reason="read ✓"))
    page = both.read("list_skills", ops.SkillsRequest(limit=2))
    rest = both.read("list_skills", ops.SkillsRequest(limit=2, cursor=page.next_cursor))
    every = tuple(sorted((kept, renamed, promoted), key=lambda skill: skill.name))
    assert (*page.items, *rest.items) == every
    narrow = ops.SkillsRequest(states=frozenset(SkillState), origins=frozenset({SkillOrigin.IMPORTED}))
    assert both.read("list_skills", narrow).items == (promoted,)
    assert both.read("get_skill", kept.skill_id) == both.read("get_skill", kept.name) == kept
    session = both.do("create_session", ops.NewSession())
    run = both.do("open_run", ops.NewRun(session_id=session.session_id, request="tidy up")).run
    for limit in (None, 1):
        query = ops.MatchRequest(query="tidy the workspace ✓", session_id=session.session_id, limit=limit)
        assert both.read("match_skills", query).items[0].skill == promoted
    assert both.read("session_skills", session.session_id) == every
    bound = both.do("create_session", ops.NewSession(title="bound"))
    scope: JsonObject = {"deny_skills": ["tidy-*"]}
    both.do("change_session", ops.SessionChange(session_id=bound.session_id, capability_scope=scope))
    narrow_query = ops.MatchRequest(query="tidy the workspace ✓", session_id=bound.session_id)
    assert both.read("match_skills", narrow_query).items == ()
    assert both.do("use_skill", ops.UseSkill(name="tidy-it", run_id=run.run_id)).usage.times == 1
    assert (
        both.read("use_skill", ops.UseSkill(name="tidy-it", session_id=session.session_id)).usage.times == 1
    )
    gone = both.do("delete_skill", "tidy-it")
    assert gone.state is SkillState.DELETED
    assert both.read("delete_skill", "tidy-it") == gone
    assert both.do("restore_skill", gone.skill_id).state is SkillState.ACTIVE
    settled = both.read("settle_skill_file", ops.SettleFile(name="tidy-it", keep=ops.Keep.STORED))
    assert settled.file_remark == ""
    both.do("skip_suggestion", other.suggestion_id)
    assert [each.suggestion_id for each in both.do("reset_skips", other.suggestion_id)] == [
        other.suggestion_id
    ]
    assert both.read("reset_skips") == ()
    told = ops.MachineMounts(machine="afar", folders=("/srv/ada/.claude/skills",))
    assert both.read("note_mounts", told) == told


def curation(both: Both) -> None:
    """What curation would do, does, and has undone."""
    saved = ops.SuggestionsRequest(states=frozenset({SuggestionState.SAVED, SuggestionState.WAITING}))
    for suggestion in both.read("list_suggestions", saved).items:
        both.do("skip_suggestion", suggestion.suggestion_id)
    planned = both.read("curate_skills", ops.CurateRequest())
    done = both.do("curate_skills", ops.CurateRequest(apply=True, idempotency_key="c/é"))
    assert (planned.curation, planned.actions) == (None, done.actions)
    assert both.read("curate_skills", ops.CurateRequest(apply=True, idempotency_key="c/é")) == done
    assert done.curation is not None
    assert both.read("list_curations") == both.read("list_curations", 1) == (done.curation,)
    undone = both.do("undo_curation", None)
    assert (undone.curation_id, undone.undone_by) == (done.curation.curation_id, "operator")
    assert both.read("undo_curation", undone.curation_id) == undone
    log = both.read("skill_log", ops.SkillLogRequest(limit=3))
    older = both.read("skill_log", ops.SkillLogRequest(limit=100, cursor=log.next_cursor))
    assert len(log.items) == 3
    assert len({event.number for event in (*log.items, *older.items)}) == 3 + len(older.items)
    told = both.read("skill_log", ops.SkillLogRequest(name="tidy-it")).items
    assert "read ✓" in {event.reason for event in told}


def skill_mistakes() -> tuple[tuple[str, Any], ...]:
    """Calls about skills that are refused."""
    return (
        *(("get_suggestion", name) for name in ("none", "", "\0", "\udcff", "x" * 5_000, "a/b c%2F..")),
        ("skip_suggestion", SuggestionId("none")),
        ("reset_suggestion", SuggestionId("")),
        ("list_suggestions", ops.SuggestionsRequest(limit=0)),
        ("list_suggestions", ops.SuggestionsRequest(cursor="what?")),
        ("import_runs", to_import(source=" ")),
        ("import_runs", to_import(told_run(1, commands=(), events=()))),
        ("transcript_positions", ["x"] * 10_001),
        ("suggest", ops.SuggestRequest(idempotency_key=" ")),
        *(("get_skill", name) for name in ("none", "", "\0", "\udcff", "x" * 5_000, "a/b c%2F..")),
        *((name, "none") for name in ("delete_skill", "restore_skill", "reset_skips")),
        ("settle_skill_file", ops.SettleFile(name="none", keep=ops.Keep.FILE)),
        ("save_skill", ops.SaveSkill(suggestion="none")),
        ("save_skill", ops.SaveSkill(suggestion="none", name="../x")),
        ("import_skill", ops.ImportSkill(text="no skill", source="a friend")),
        ("import_skill", ops.ImportSkill(text=skill_md(), source=" ")),
        ("import_skill", ops.ImportSkill(text=skill_md(), source="a friend", name="A B")),
        ("import_skill", ops.ImportSkill(text=skill_md() + "x" * (1 << 20), source="a friend")),
        ("accept_skill", ops.AcceptSkill(name="none", force=True)),
        ("list_skills", ops.SkillsRequest(limit=0)),
        ("list_skills", ops.SkillsRequest(cursor="what?")),
        ("match_skills", ops.MatchRequest(query="")),
        ("match_skills", ops.MatchRequest(query="x", limit=0)),
        ("match_skills", ops.MatchRequest(query="x" * 5_000)),
        ("match_skills", ops.MatchRequest(query="x", session_id=SessionId("none"))),
        ("session_skills", SessionId("none")),
        ("use_skill", ops.UseSkill(name="none")),
        ("use_skill", ops.UseSkill(name="none", run_id=RunId("none"))),
        ("undo_curation", CurationId("none")),
        ("undo_curation", CurationId("")),
        ("list_curations", 0),
        ("skill_log", ops.SkillLogRequest(cursor="what?")),
        ("skill_log", ops.SkillLogRequest(limit=0)),
    )
