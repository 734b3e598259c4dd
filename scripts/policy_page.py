"""The page on the learning and the skills policy: every field with what it does, its values, its default and
an example."""

import json
from textwrap import wrap

from runlore.domain.policies.learning_policy import LearningPolicy
from runlore.domain.policies.policy_fields import LEARNING
from runlore.domain.policies.policy_shapes import PolicyField, Table
from runlore.domain.policies.skills_policy import SKILLS, SkillsPolicy
from runlore.domain.record import JsonValue
from scripts.policy_schema import NOT_IN_THE_SCHEMA, describe, walk_fields

_WIDTH = 110
_INTRODUCTION = """\
The learning policy says what is captured, what automation may do with candidates, and what prompts get. An
operator sets it, for everybody. `runlore policy show learning` prints the policy in force, and `runlore
policy set learning FILE` replaces it as a whole. `runlore policy test FILE` shows first what a policy would
do to waiting and recently decided candidates, beside the present one. Every version is kept (`runlore policy
history learning`), and `runlore policy rollback learning` brings an earlier one back. After each change the
waiting candidates are reviewed again.

A file is TOML or JSON. It contains the fields as on this page, or a table named `learning` with them; one
file can contain several policies, each in a table with its name. A field that is left out takes its default.
A policy with a mistake is refused as a whole, and the error names the field's path. Positions in a path count
from 0, as in `--set 'publication.rules[0].min_confidence=90'`; a review names a rule without a name by its
position counted from 1, such as `rule 1`.

A rule's conditions (its matchers) are optional: one that is not set matches everything. The table below shows
its default as "open"; in JSON it is null.

The JSON schema is [learning-policy.schema.json](reference/learning-policy.schema.json). It cannot express
these rules, which are checked when a policy is set or tested:
"""
_GATES = """\
Whatever a policy says, automation never publishes a candidate from outside or with suspicious text; only
facts, decisions and preferences get into the active tier; and a candidate that came through the API gets
there only if `allow_api_origin_active_publication` is true. Prompts get only the active tier; a record in the
provisional tier can be found and reviewed, and no prompt gets it. When something says the same with new
evidence, automation raises it where the rules allow that; otherwise it stands in the review list.
"""
_SKILLS = """\
The skills policy says which skills are learned and saved, how drafts are curated, and how many skills a
prompt gets: `runlore policy show skills`, `runlore policy set skills FILE`, in a table named `skills` if a
file contains several policies. A field that is left out takes its default, also inside `auto_save` and
`curation`. Models and embedding backends are not part of a policy: they are [settings](settings.md). Whatever
the policy says, a skill with text from outside is not saved or given to a prompt until a person has accepted
it, and only drafts are ever curated.
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
    return {path: field.example for path, field, _ in walk_fields(LEARNING)}


def skills_policy_examples() -> dict[str, str]:
    """The example of every field of the skills policy, by its path."""
    return {path: field.example for path, field, _ in walk_fields(SKILLS)}


def _told(table: Table[LearningPolicy] | Table[SkillsPolicy]) -> list[str]:
    walked = list(walk_fields(table))
    lines = ["| field | default |", "|---|---|"]
    lines += [f"| [`{path}`](#{_anchor(path)}) | {_default(field, value)} |" for path, field, value in walked]
    for path, field, value in walked:
        lines += ["", f"## `{path}`", "", *wrap(field.about, _WIDTH), ""]
        lines += [f"{_sentence(field)} Default: {_default(field, value)}. Requirement: {field.requirement}."]
        lines += ["", "```toml", *field.example.splitlines(), "```"]
    return lines


def _sentence(field: PolicyField) -> str:
    told = describe(field.shape)
    return f"{told[0].upper()}{told[1:]}."


def _default(field: PolicyField, value: JsonValue) -> str:
    if field.required:
        return "none, it has to be given"
    return "open" if value is None else f"`{json.dumps(value)}`"


def _anchor(path: str) -> str:
    """How a heading is linked to: what is neither a letter nor a digit falls away."""
    return "".join(character for character in path.lower() if character.isalnum() or character in "_-")
