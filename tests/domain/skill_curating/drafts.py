"""Drafts for tests of curation: what their steps run is drawn from a small vocabulary, so that they meet."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from runlore.domain.policies.skills_policy import SkillCurationPolicy
from runlore.domain.skill import (
    Quality,
    Skill,
    SkillDocument,
    SkillId,
    SkillOrigin,
    SkillState,
    SuggestionId,
    Usage,
)
from runlore.domain.skill_curating.planning import plan_curation
from runlore.domain.skills.skill_curation import CurationPlan
from runlore.domain.skills.skips import Skip
from runlore.domain.taint import TRUSTED, Provenance
from tests.builders import act
from tests.fakes import START

NOW = START + timedelta(days=200)
TAINTED = Provenance(untrusted=True, needs_review=True, sources=("https://example.com/a",))
COMMANDS = (
    "make fmt",
    "make lint",
    "make test",
    "make build",
    "make deploy",
    "docker build -t app .",
    "docker push app",
    "kubectl rollout restart deployment/app",
    "terraform apply",
    "cargo test",
)


def body_of(commands: Sequence[str], *, note: str = "", failed: str = "") -> str:
    """A body as suggestions have them; with what failed before it is one that puts that right."""
    steps = "\n".join(f"{number}. `{command}`" for number, command in enumerate(commands, start=1))
    if failed:
        steps += f"\n\n| Before | After |\n| --- | --- |\n| `{failed}` | `{commands[-1]}` |"
    verified = f"`{commands[-1]}` should exit with code 0." if commands else "Look at it."
    return (
        f"## Overview\n\nA procedure of {len(commands)} steps. {note}\n\n## Step-by-Step\n\n{steps}\n\n"
        f"## Common Pitfalls\n\n- No step failed in what was seen.\n\n## Verification\n\n{verified}\n"
    )


def draft(number: int, commands: Sequence[str] = (), **fields: Any) -> Skill:
    """A draft; `note`, `failed` and `body` say more about its body, `days` when it was made."""
    note, failed = fields.pop("note", f"Note {number}."), fields.pop("failed", "")
    body = fields.pop("body", None)
    made_at: datetime = START + timedelta(days=fields.pop("days", number))
    document = SkillDocument(
        name=f"draft-{number}",
        description=f"Does {number}.",
        body=body_of(commands, note=note, failed=failed) if body is None else body,
        topics=tuple(dict.fromkeys(word for command in commands for word in command.split()[:2])),
        actions=(f"act-{number}",),
        author="runlore",
        quality=Quality.DRAFT,
    )
    found = Skill(
        skill_id=SkillId(f"skl_{number:03}"),
        document=document,
        origin=SkillOrigin.LEARNED,
        suggestion_id=SuggestionId(f"sug_{number:03}"),
        pattern=f"pattern {number}",
        created_at=made_at,
        updated_at=made_at,
    )
    return replace(found, **fields)


def plan(
    skills: Iterable[Skill], *, skips: dict[str, Skip] | None = None, at: datetime = NOW, **policy: Any
) -> CurationPlan:
    """What curation would do."""
    return plan_curation(
        skills,
        skips=skips or {},
        policy=SkillCurationPolicy(**policy),
        act=act(at=at, actor="curation"),
    )


def carried_out(skills: Sequence[Skill], found: CurationPlan) -> list[Skill]:
    """The skills after a plan."""
    after = {skill.skill_id: skill for skill in found.after}
    return [after.get(skill.skill_id, skill) for skill in skills]


def lines_of(body: str) -> set[str]:
    """The lines of a body, headings by their text."""
    return {line.strip().lstrip("#").strip() if line.startswith("#") else line for line in body.split("\n")}


_usages = st.just(Usage()) | st.builds(
    Usage,
    times=st.integers(1, 9),
    last_used_at=st.integers(0, 200).map(lambda days: START + timedelta(days=days)),
)


@st.composite
def pools(draw: st.DrawFn, *, drafts_alone: bool = False) -> list[Skill]:
    """Skills of all kinds, most of them drafts that run something in common."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        commands = draw(st.lists(st.sampled_from(COMMANDS), max_size=4, unique=True))
        skill = draft(
            number,
            commands,
            note=draw(st.sampled_from(["", "Mind the gap.", f"Number {number}."])),
            failed=draw(st.sampled_from(["", "", "", "make tset"])) if commands else "",
            days=draw(st.integers(0, 5)),
            provenance=draw(st.sampled_from([TRUSTED, TRUSTED, TAINTED])),
            usage=draw(_usages),
        )
        if not drafts_alone:
            skill = replace(
                skill,
                origin=draw(st.sampled_from([SkillOrigin.LEARNED] * 6 + list(SkillOrigin))),
                state=draw(st.sampled_from([SkillState.ACTIVE] * 6 + list(SkillState))),
                text=draw(st.sampled_from([""] * 6 + ["# by hand\n"])),
                document=replace(
                    skill.document, quality=draw(st.sampled_from([Quality.DRAFT] * 6 + list(Quality)))
                ),
            )
        found.append(skill)
    return found


skip_lists = st.dictionaries(
    st.integers(0, 8).map(lambda number: f"pattern {number}"),
    st.builds(
        Skip,
        times=st.integers(1, 3),
        at=st.integers(100, 200).map(lambda days: START + timedelta(days=days)),
    ),
    max_size=3,
)
