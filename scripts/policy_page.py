"""The page on the learning and the skills policy: every field with what it does, its values, its default and
an example."""

import json
from textwrap import wrap

from runlore.domain.learning_policy import LearningPolicy
from runlore.domain.policy_fields import LEARNING, NOT_IN_THE_SCHEMA
from runlore.domain.policy_shapes import Field, Table
from runlore.domain.record import JsonValue
from runlore.domain.skills_policy import SKILLS, SkillsPolicy

_WIDTH = 110
_INTRODUCTION = """\
What an operator has decided for everybody: what is captured, what automation may do with candidates, and
what prompts get. `runlore policy show learning` prints the policy in force, and `runlore policy set learning
FILE` puts another one, whole. `runlore policy test FILE` shows first what it would do to what waits and to
what was decided lately, beside the present one. Every version stays (`runlore policy history learning`), and
`runlore policy rollback learning` puts an earlier one again. After each change what waits is reviewed again.

A file is TOML or JSON. It holds the fields alone, as on this page, or in a table named `learning`; one file
can hold several policies, each in a table of its name. What it leaves out takes its default. What is wrong is
refused with the field's path, and nothing of a refused policy takes effect. Places in a path count from 0, as
`--set 'publication.rules[0].min_confidence=90'` takes them; a review tells a rule without a name by its place
counted from 1, such as `rule 1`. A matcher that a rule leaves open is null in JSON.

The JSON schema is [learning-policy.schema.json](reference/learning-policy.schema.json). These rules are
beyond it, and are checked when a policy is put or tried:
"""
_GATES = """\
Whatever a policy says: nothing from an untrusted source or with suspicious text is published by automation,
only facts, decisions and preferences are published actively, and what came through the API is published
actively only where `allow_api_origin_active_publication` says so.
"""
_SKILLS = """\
What is learned, saved and kept of skills, and how many of them a prompt gets: `runlore policy show skills`,
`runlore policy set skills FILE`, in a table named `skills` where a file holds several policies. What a file
leaves out takes its default, inside `auto_save` and `curation` too. Which models and embedding backends there
are is no policy: that stands in the settings. Whatever it says, nothing tainted is saved or given to a prompt
until a person has promoted it, and only drafts are ever curated.
"""


def policy_page() -> str:
    """Every field of the learning policy, then every field of the skills policy."""
    lines = [
        "# The learning policy",
        "",
        "<!-- Written by `make docs`; change the code, not this page. -->",
        "",
    ]
    lines += [_INTRODUCTION, *(f"- {rule}" for rule in NOT_IN_THE_SCHEMA), "", _GATES]
    lines += [*_told(LEARNING), "", "# The skills policy", "", _SKILLS, *_told(SKILLS)]
    return "\n".join([*lines, ""])


def policy_examples() -> dict[str, str]:
    """The example of every field of the learning policy, by its path."""
    return {path: field.example for path, field, _ in LEARNING.walked()}


def skills_policy_examples() -> dict[str, str]:
    """The example of every field of the skills policy, by its path."""
    return {path: field.example for path, field, _ in SKILLS.walked()}


def _told(table: Table[LearningPolicy] | Table[SkillsPolicy]) -> list[str]:
    walked = list(table.walked())
    lines = ["| field | default |", "|---|---|"]
    lines += [f"| [`{path}`](#{_anchor(path)}) | {_default(field, value)} |" for path, field, value in walked]
    for path, field, value in walked:
        lines += ["", f"## `{path}`", "", *wrap(field.about, _WIDTH), ""]
        lines += [f"{_sentence(field)} Default: {_default(field, value)}. Requirement: {field.requirement}."]
        lines += ["", "```toml", *field.example.splitlines(), "```"]
    return lines


def _sentence(field: Field) -> str:
    told = field.shape.told()
    return f"{told[0].upper()}{told[1:]}."


def _default(field: Field, value: JsonValue) -> str:
    if field.required:
        return "none, it has to be given"
    return "open" if value is None else f"`{json.dumps(value)}`"


def _anchor(path: str) -> str:
    """How a heading is linked to: what is neither a letter nor a digit falls away."""
    return "".join(character for character in path.lower() if character.isalnum() or character in "_-")
