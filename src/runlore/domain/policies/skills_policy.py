"""The skills policy: what is learned, saved and kept of skills, and how many of them a prompt gets (SKL-12).

One table reads it, checks it, writes it back and describes it. What a document leaves out takes its default,
inside the inner tables too.
"""

from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy_shapes import PolicyField, Table, Whole
from runlore.domain.record import JsonObject, JsonValue


@dataclass(frozen=True, kw_only=True)
class AutoSavePolicy:
    """Whether good suggestions become skills by themselves, and how many of one run."""

    enabled: bool = True
    require_llm: bool = True
    max_per_run: int = 3


@dataclass(frozen=True, kw_only=True)
class SkillCurationPolicy:
    """How drafts are kept from piling up, and for how long a skip counts; `skip_reset_days` 0 is for ever."""

    staleness_days: int = 90
    auto_prune: bool = False
    auto_curate: bool = True
    skip_threshold: int = 1
    skip_reset_days: int = 30


@dataclass(frozen=True, kw_only=True)
class SkillsPolicy:
    """Whether runs that have ended are looked at for skills, what becomes of what is found, and how many
    skills a prompt gets."""

    learn: bool = True
    llm_learn: bool = True
    llm_curate: bool = True
    max_auto_load: int = 3
    max_lazy_slots: int = 5
    roll_back_harmful: bool = False
    auto_save: AutoSavePolicy = AutoSavePolicy()
    curation: SkillCurationPolicy = SkillCurationPolicy()


def skills_policy(document: JsonObject) -> SkillsPolicy:
    return SKILLS.read("", document)


def skills_policy_to_plain(policy: SkillsPolicy) -> dict[str, JsonValue]:
    return SKILLS.plain(policy)


AUTO_SAVE = Table(
    made=AutoSavePolicy,
    fields=(
        PolicyField(
            name="enabled",
            about="Whether suggestions that pass the gate are saved as drafts automatically. A suggestion"
            " from outside never is. If it is off, you are asked at the terminal; without a terminal"
            " suggestions wait in the review queue.",
            requirement="SKL-7",
            example="[auto_save]\nenabled = false",
        ),
        PolicyField(
            name="require_llm",
            about="Whether only suggestions that a model has improved are saved automatically. It has no"
            " effect if no model is configured, or if `llm_learn` is off.",
            requirement="SKL-7",
            example="[auto_save]\nrequire_llm = false",
        ),
        PolicyField(
            name="max_per_run",
            shape=Whole(least=0, most=100),
            about="How many skills of one run are saved automatically. The others wait in the review queue.",
            requirement="SKL-7",
            example="[auto_save]\nmax_per_run = 1",
        ),
    ),
)

CURATION = Table(
    made=SkillCurationPolicy,
    fields=(
        PolicyField(
            name="staleness_days",
            shape=Whole(least=1, most=3_650),
            about="After how many days without use a draft is stale, counted from its last use, or from its"
            " creation if it was never used.",
            requirement="SKL-9",
            example="[curation]\nstaleness_days = 180",
        ),
        PolicyField(
            name="auto_prune",
            about="Whether stale drafts are deleted. Like everything that curation does it can be undone.",
            requirement="SKL-9",
            example="[curation]\nauto_prune = true",
        ),
        PolicyField(
            name="auto_curate",
            about="Whether drafts are curated after each session that saved one. If it is off,"
            " `runlore skill curate --apply` does it.",
            requirement="SKL-9",
            example="[curation]\nauto_curate = false",
        ),
        PolicyField(
            name="skip_threshold",
            shape=Whole(least=1, most=100),
            about="After how many skips a suggestion is not made again.",
            requirement="SKL-6",
            example="[curation]\nskip_threshold = 2",
        ),
        PolicyField(
            name="skip_reset_days",
            shape=Whole(least=0, most=3_650),
            about="For how many days a skip counts; 0 means for ever. A suggestion that is seen again after"
            " that waits again.",
            requirement="SKL-6",
            example="[curation]\nskip_reset_days = 0",
        ),
    ),
)

SKILLS = Table(
    made=SkillsPolicy,
    fields=(
        PolicyField(
            name="learn",
            about="Whether Runlore looks for skills in runs that have ended.",
            requirement="SKL-1",
            example="learn = false",
        ),
        PolicyField(
            name="llm_learn",
            about="Whether the configured model improves suggestions. What it adds beyond the transcript is"
            " dropped.",
            requirement="SKL-5",
            example="llm_learn = false",
        ),
        PolicyField(
            name="llm_curate",
            about="Whether the configured model comments on what curation did. It decides nothing.",
            requirement="SKL-9",
            example="llm_curate = false",
        ),
        PolicyField(
            name="max_auto_load",
            shape=Whole(least=0, most=100),
            about="How many of the skills with `runlore-auto-load` are in every prompt. One from outside"
            " never is.",
            requirement="SKL-10",
            example="max_auto_load = 0",
        ),
        PolicyField(
            name="max_lazy_slots",
            shape=Whole(least=0, most=100),
            about="How many of the matching skills an input gets.",
            requirement="SKL-10",
            example="max_lazy_slots = 3",
        ),
        PolicyField(
            name="roll_back_harmful",
            about="Whether a promoted skill is taken out of use at once when runs are known to go worse with"
            " it, or when most of five runs or more that used it have failed. Your inbox says so either way.",
            requirement="VAL-4",
            example="roll_back_harmful = true",
        ),
        PolicyField(
            name="auto_save", shape=AUTO_SAVE, about="What is saved without a question.", requirement="SKL-7"
        ),
        PolicyField(
            name="curation", shape=CURATION, about="How drafts are kept from piling up.", requirement="SKL-9"
        ),
    ),
)
