"""Curation, rule by rule: what is dropped, merged, deleted and pruned, why, and what is left alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.domain import limits
from runlore.domain.policies.skills_policy import SkillCurationPolicy
from runlore.domain.skill import Quality, SkillDocument, SkillOrigin, SkillState, Usage
from runlore.domain.skill_curating.merging import PARTS_MAX, merge_skills, next_version
from runlore.domain.skills.skill_curation import CurationKind
from runlore.domain.skills.skips import Skip
from runlore.domain.taint import Provenance
from tests.domain.skill_curating.drafts import NOW, TAINTED, body_of, carried_out, draft, lines_of, plan
from tests.fakes import START

pytestmark = pytest.mark.req("SKL-9")

CHECKS = ("make fmt", "make lint", "make test")
DEPLOY = ("docker build -t app .", "docker push app", "kubectl rollout restart deployment/app")


def test_without_drafts_there_is_nothing_to_do() -> None:
    assert plan([]) == plan([draft(1, CHECKS)]) == plan([draft(1, CHECKS), draft(2, DEPLOY)])
    assert plan([]).actions == ()


def test_of_two_with_the_same_body_the_older_is_kept_as_it_is() -> None:
    one, other = draft(2, CHECKS, note=""), draft(1, CHECKS, note="")
    found = plan([one, other])

    [action] = found.actions
    assert (action.kind, action.gone, action.kept) == (CurationKind.DROP, one.skill_id, other.skill_id)
    assert (action.gone_name, action.kept_name) == (one.name, other.name)
    assert action.reason == "its text is that of draft-1"
    gone, kept = (carried_out([one, other], found)[place] for place in (0, 1))
    assert (gone.state, gone.merged_into) == (SkillState.MERGED, other.skill_id)
    assert kept.document.body == other.document.body
    assert kept.document.actions == ("act-1", "act-2")
    assert [each.pattern for each in kept.learned_from] == ["pattern 1", "pattern 2"]


def test_of_the_same_age_the_lower_id_is_kept() -> None:
    found = plan([draft(3, CHECKS, days=0, note=""), draft(2, CHECKS, days=0, note="")])

    assert [action.kept for action in found.actions] == ["skl_002"]


def test_related_drafts_are_merged_into_the_older_under_its_name() -> None:
    one, other = draft(1, CHECKS), draft(2, ("make lint", "make test", "make build"))
    found = plan([other, one])

    [action] = found.actions
    assert (action.kind, action.gone, action.kept) == (CurationKind.MERGE, other.skill_id, one.skill_id)
    assert action.reason == "it shares lint, make, test with draft-1, and half of what they run"
    gone, kept = carried_out([other, one], found)
    assert (kept.name, kept.document.version, kept.document.quality) == ("draft-1", "1.1.0", Quality.DRAFT)
    assert kept.document.topics == ("make", "fmt", "lint", "test", "build")
    assert kept.document.actions == ("act-1", "act-2")
    assert kept.document.description == "Does 1. Does 2."
    assert (kept.revision, kept.updated_at, kept.state_actor) == (2, NOW, "curation")
    assert (gone.state, gone.merged_into, gone.document) == (SkillState.MERGED, one.skill_id, other.document)
    assert kept.document.body == (
        one.document.body.rstrip("\n")
        + "\n\n## Also: draft-2\n\n### Overview\n\nA procedure of 3 steps. Note 2.\n\n### Step-by-Step\n\n"
        + "1. `make lint`\n2. `make test`\n3. `make build`\n\n### Verification\n\n"
        + "`make build` should exit with code 0.\n"
    )


def test_a_chain_of_three_loses_no_text() -> None:
    chain = [
        draft(1, CHECKS),
        draft(2, ("make lint", "make test", "make build")),
        draft(3, ("make test", "make build", "make deploy")),
    ]
    found = plan(chain)

    kept = carried_out(chain, found)[0]
    assert [(action.gone_name, action.kept_name) for action in found.actions] == [
        ("draft-2", "draft-1"),
        ("draft-3", "draft-1"),
    ]
    for skill in chain:
        assert lines_of(skill.document.body) <= lines_of(kept.document.body)
        assert kept.document.body.count(f"Note {skill.name[-1]}.") == 1
    assert [each.suggestion_id for each in kept.learned_from] == [skill.suggestion_id for skill in chain]


def test_what_was_merged_one_after_the_other_says_the_same_as_at_once() -> None:
    chain = [
        draft(1, CHECKS),
        draft(2, ("make lint", "make test", "make build")),
        draft(3, ("make test", "make build", "make deploy")),
    ]
    at_once = carried_out(chain, plan(chain))[0]
    first = carried_out(chain[:2], plan(chain[:2]))
    step_by_step = carried_out([*first, chain[2]], plan([*first, chain[2]]))[0]

    assert step_by_step.document == replace(at_once.document, version="1.2.0")
    assert step_by_step.also_from == at_once.also_from


def test_a_chain_ends_where_its_ends_have_nothing_in_common() -> None:
    chain = [
        draft(1, CHECKS),
        draft(2, ("make lint", "make test", "make build")),
        draft(3, ("make test", "make build", "make deploy")),
        draft(4, ("make build", "make deploy", "make release")),
    ]
    after = carried_out(chain, plan(chain))

    assert [skill.state for skill in after] == ["active", "merged", "merged", "active"]
    assert after[3] == chain[3]


UNRELATED = {
    "two tools in common": (("go vet ./...", "mise run check"), ("mise run docs", "go run ./cmd/site")),
    "one command in common": (("docker build -t a .", "docker push a"), ("docker build -t b .", "make test")),
    "the same program for other ends": (
        ("docker build -t app .", "docker run --rm app lint"),
        ("docker build -t docs docs", "docker run -p 80:80 docs"),
    ),
    "the same program with other words": (("docker build -t app .",), ("docker build -t docs docs",)),
    "everyday work in common": (
        ("git add -A", "git commit -m x", "git push", "make release"),
        ("git add -A", "git commit -m y", "git push", "npm publish"),
    ),
    "what every release pushes": (
        ("make release", "git tag v1", "git push"),
        ("npm publish", "git tag v1", "git push"),
    ),
    "one keyword in common": (("pytest",), ("pytest",)),
    "requests to other places": (
        ("curl https://a.example.com/x", "curl https://a.example.com/y"),
        ("curl https://b.example.com/x", "curl https://b.example.com/y"),
    ),
    "scripts of other names": (
        ("python scripts/a.py", "python scripts/b.py"),
        ("python scripts/c.py", "python scripts/d.py"),
    ),
    "other questions to a database": (
        ("psql -c 'select 1' app", "psql -c 'select 2' app"),
        ("psql -c 'drop table a' app", "psql -c 'drop table b' app"),
    ),
    "looking around": (("ls -la", "cat a", "git status"), ("ls -la", "cat b", "git status")),
    "nothing at all": ((), ()),
}


@pytest.mark.parametrize("why", UNRELATED)
def test_unrelated_drafts_never_merge_whatever_words_they_share(why: str) -> None:
    one, other = UNRELATED[why]
    shared = ("docker", "container", "build", "deploy", "##", "-", "1")
    drafts = [draft(1, one), draft(2, other)]
    drafts = [replace(each, document=replace(each.document, topics=shared)) for each in drafts]

    assert plan(drafts).actions == ()


def test_what_puts_a_failure_right_is_no_procedure() -> None:
    assert plan([draft(1, CHECKS), draft(2, CHECKS, failed="make tset")]).actions == ()
    fixes = [draft(1, ("make test",), failed="make tset"), draft(2, ("make test",), failed="make tset")]
    assert len(plan(fixes).actions) == 1
    others = [draft(1, ("make test",), failed="make tset"), draft(2, ("make test",), failed="npm test")]
    assert plan(others).actions == ()


def test_one_command_alone_is_merged_where_it_is_the_same_to_the_letter() -> None:
    assert len(plan([draft(1, ("make test",)), draft(2, ("make test",))]).actions) == 1
    assert plan([draft(1, ("make test",)), draft(2, ("make test V=1",))]).actions == ()


@pytest.mark.req("TNT-3")
def test_taint_is_inherited_and_a_tainted_draft_never_meets_one_that_is_not() -> None:
    elsewhere = Provenance(needs_review=True, sources=("https://example.com/b",))
    tainted = [draft(1, CHECKS, provenance=TAINTED), draft(2, CHECKS, provenance=elsewhere)]
    kept = carried_out(tainted, plan(tainted))[0]

    assert kept.provenance.untrusted
    assert kept.provenance.needs_review
    assert kept.provenance.sources == ("https://example.com/a", "https://example.com/b")
    assert plan([draft(1, CHECKS, provenance=TAINTED), draft(2, CHECKS)]).actions == ()
    assert plan([draft(1, CHECKS, note=""), draft(2, CHECKS, note="", provenance=TAINTED)]).actions == ()


@pytest.mark.parametrize(
    "fields",
    [
        *({"origin": origin} for origin in SkillOrigin if origin is not SkillOrigin.LEARNED),
        *({"state": state} for state in SkillState if state is not SkillState.ACTIVE),
        {"text": "# by hand\n"},
    ],
)
def test_what_is_no_draft_is_never_touched(fields: dict[str, object]) -> None:
    untouched = draft(1, CHECKS, note="", **fields)
    skips = {untouched.pattern: Skip(times=9, at=NOW)}

    assert plan([untouched, draft(2, CHECKS, note="")], skips=skips).actions == ()
    assert plan([untouched], auto_prune=True).actions == ()


@pytest.mark.parametrize("quality", [quality for quality in Quality if quality is not Quality.DRAFT])
def test_what_says_that_it_is_no_draft_is_never_touched(quality: Quality) -> None:
    skill = draft(1, CHECKS, note="")
    mine = replace(skill, document=replace(skill.document, quality=quality))

    assert plan([mine, draft(2, CHECKS, note="")], auto_prune=False).actions == ()
    assert plan([mine], auto_prune=True, skips={mine.pattern: Skip(times=9, at=NOW)}).actions == ()


@pytest.mark.req("SKL-6")
def test_a_draft_that_was_skipped_to_the_threshold_goes_until_the_skip_expires() -> None:
    one = draft(1, CHECKS)
    for times, days, threshold, goes in [
        (1, 30, 1, True),
        (1, 31, 1, False),
        (1, 0, 2, False),
        (2, 0, 2, True),
        (9, 31, 2, False),
    ]:
        skips = {one.pattern: Skip(times=times, at=NOW - timedelta(days=days))}
        found = plan([one], skips=skips, skip_threshold=threshold)
        assert [action.kind for action in found.actions] == ([CurationKind.SKIPPED] if goes else [])
    found = plan([one], skips={one.pattern: Skip(times=2, at=NOW)})
    assert found.actions[0].reason == f"it was skipped 2 times, last on {NOW:%Y-%m-%d}"
    assert found.actions[0].kept is None
    assert found.after[0].state is SkillState.DELETED


def test_what_was_skipped_finds_its_way_into_no_other_draft_and_takes_none_with_it() -> None:
    old, new = draft(1, CHECKS, note=""), draft(2, CHECKS, note="")
    found = plan([old, new], skips={old.pattern: Skip(times=1, at=NOW)})

    assert [(action.kind, action.gone) for action in found.actions] == [(CurationKind.SKIPPED, old.skill_id)]
    assert carried_out([old, new], found)[1] == new


def test_a_merged_draft_goes_when_all_that_it_was_learned_from_was_skipped() -> None:
    drafts = [draft(1, CHECKS), draft(2, CHECKS)]
    merged = carried_out(drafts, plan(drafts))
    one, both = (
        {each: Skip(times=1, at=NOW) for each in names}
        for names in (["pattern 1"], ["pattern 1", "pattern 2"])
    )

    assert plan(merged, skips=one).actions == ()
    assert [action.gone_name for action in plan(merged, skips=both).actions] == ["draft-1"]


def test_a_draft_is_stale_when_it_was_not_used_since_it_was_made_or_since_its_last_use() -> None:
    for days, used, stale in [(110, None, False), (109, None, True), (0, 110, False), (0, 109, True)]:
        usage = Usage() if used is None else Usage(times=1, last_used_at=START + timedelta(days=used))
        found = plan([draft(1, CHECKS, days=days, usage=usage)], auto_prune=True, staleness_days=90)
        assert [action.kind for action in found.actions] == ([CurationKind.PRUNE] if stale else [])
    [action] = plan([draft(1, CHECKS, days=0)], auto_prune=True).actions
    assert action.reason == "it was not used for more than 90 days"


def test_nothing_is_pruned_unless_the_policy_says_so() -> None:
    assert SkillCurationPolicy().auto_prune is False
    assert plan([draft(1, CHECKS, days=0)]).actions == ()


def test_a_stale_draft_that_is_like_one_in_use_is_merged_and_not_lost() -> None:
    used = Usage(times=1, last_used_at=NOW)
    drafts = [draft(1, CHECKS), draft(2, CHECKS, usage=used)]
    found = plan(drafts, auto_prune=True)
    after = carried_out(drafts, found)

    assert [action.kind for action in found.actions] == [CurationKind.MERGE]
    assert plan(after, auto_prune=True).actions == ()
    all_stale = plan([draft(1, CHECKS), draft(2, CHECKS)], auto_prune=True)
    assert [action.kind for action in all_stale.actions] == [CurationKind.PRUNE] * 2


def test_what_does_not_fit_into_one_is_two_and_nothing_is_cut() -> None:
    long = "x" * (limits.SKILL_BODY_CHARS_MAX // 2 - 400)
    drafts = [draft(number, CHECKS, note=f"{number} {long}") for number in range(1, 4)]
    found = plan(drafts)
    after = carried_out(drafts, found)

    assert sorted(skill.state for skill in after) == ["active", "active", "merged"]
    assert all(len(skill.document.body) <= limits.SKILL_BODY_CHARS_MAX for skill in after)
    texts = "".join(skill.document.body for skill in after if skill.state is SkillState.ACTIVE)
    assert all(f"{number} {long}" in texts for number in range(1, 4))
    assert plan(after).actions == ()


def test_no_skill_becomes_more_than_can_be_read_as_one() -> None:
    drafts = [draft(number, CHECKS) for number in range(1, 2 * PARTS_MAX + 2)]
    after = carried_out(drafts, plan(drafts))
    kept = [skill for skill in after if skill.state is SkillState.ACTIVE]

    assert len(kept) == 3
    assert sorted(skill.document.body.count("## Also: ") for skill in kept) == [
        0,
        PARTS_MAX - 1,
        PARTS_MAX - 1,
    ]
    assert plan(after).actions == ()


def test_what_finds_room_only_when_others_were_merged_is_merged_in_the_same_plan() -> None:
    first = draft(1, CHECKS)
    again = draft(2, body=first.document.body + "\n")
    drafts = [first, again, *(draft(number, CHECKS) for number in range(3, PARTS_MAX + 2))]
    found = plan(drafts)
    after = carried_out(drafts, found)

    assert [skill.name for skill in after if skill.state is SkillState.ACTIVE] == ["draft-1"]
    assert (after[0].revision, after[0].document.body.count("## Also: ")) == (2, PARTS_MAX - 1)
    assert plan(after).actions == ()


def test_too_many_lines_or_keywords_are_not_merged() -> None:
    lines = "\n".join(f"- line {{}} {number}" for number in range(limits.SKILL_BODY_LINES_MAX // 2))
    bodies = [body_of(CHECKS, note=lines.replace("{}", name)) for name in "ab"]
    assert plan([draft(1, CHECKS, body=bodies[0]), draft(2, CHECKS, body=bodies[1])]).actions == ()
    many = [draft(1, CHECKS), draft(2, CHECKS)]
    words = [tuple(f"word-{number}-{place}" for place in range(40)) for number in range(2)]
    named = [
        replace(each, document=replace(each.document, topics=topics))
        for each, topics in zip(many, words, strict=True)
    ]
    assert plan(named).actions == ()


def test_blank_lines_and_long_names_of_parts_count_too() -> None:
    blank = body_of(CHECKS, note="A.").replace("## Verification", "\n" * 300 + "## Verification")
    other = body_of(CHECKS, note="\n".join(f"- {number}" for number in range(180)))
    assert plan([draft(1, body=blank), draft(2, body=other)]).actions == ()
    named = body_of(CHECKS, note="B.") + f"\n## Also: {'x' * 40_000}\n\nText.\n"
    long = body_of(CHECKS, note="y" * 30_000)
    assert plan([draft(1, body=long), draft(2, body=named)]).actions == ()


def test_drafts_of_the_same_body_keep_as_many_keywords_as_one_can_have() -> None:
    twins = [
        replace(
            each, document=replace(each.document, topics=tuple(f"w{number}-{place}" for place in range(40)))
        )
        for number, each in enumerate([draft(1, CHECKS, note=""), draft(2, CHECKS, note="")])
    ]
    kept = carried_out(twins, plan(twins))[0]

    assert len(kept.document.topics) == limits.SKILL_WORDS_MAX
    assert kept.document.topics[:40] == twins[0].document.topics


def test_a_sentence_that_both_say_stands_in_a_merged_description_once() -> None:
    said = ("How to build. Use it when building.", "How to push. Use it when building.", "How to push.")
    documents = [SkillDocument(name="x", description=each, body=f"{each}\n") for each in said]
    skills = [replace(draft(1, CHECKS), document=document) for document in documents]

    assert merge_skills(skills).document.description == "How to build. Use it when building. How to push."


def test_a_description_is_united_as_far_as_there_is_room() -> None:
    one, other = draft(1, CHECKS), draft(2, CHECKS)
    long = replace(other, document=replace(other.document, description="y" * 1_020))
    kept = carried_out([one, long], plan([one, long]))[0]

    assert kept.document.description == "Does 1."


@pytest.mark.parametrize(
    ("version", "following"),
    [
        ("1.0.0", "1.1.0"),
        ("1.9.4", "1.10.0"),
        ("2.0.0", "2.1.0"),
        ("", "1.1.0"),
        ("v1", "1.1.0"),
        ("1.²", "1.1.0"),
    ],
)
def test_a_merged_draft_has_the_next_version(version: str, following: str) -> None:
    assert next_version(version) == following
