"""The learning policy: what is captured, what automation may do with candidates, and what prompts get.

Ordered rules decide, the first that matches wins, and nothing that a policy says can make a prompt see what
has not been verified. The values are here; `policy_fields` reads, checks and describes them.
"""

from enum import StrEnum

from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Sensitivity
from runlore.domain.scope import ScopeKind


class Mode(StrEnum):
    """How far automation goes: not at all, noting what it would do, or doing it."""

    MANUAL_ONLY = "manual_only"
    SHADOW = "shadow"
    ENABLED = "enabled"


class Action(StrEnum):
    """What can become of a candidate, from the most careful to the boldest."""

    REJECT = "reject"
    MANUAL_REVIEW = "manual_review"
    PUBLISH_PROVISIONAL = "publish_provisional"
    PUBLISH_ACTIVE = "publish_active"


class OwnWords(StrEnum):
    """What becomes of lasting things that users say in their own words: nothing, or a candidate."""

    OFF = "off"
    PROPOSE = "propose"


class Witness(StrEnum):
    """Whose word supports a statement: the user's, the recorded outcomes of commands, the agent's own."""

    USER = "user"
    OUTCOMES = "outcomes"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True)
class SemanticCapture:
    """Whether statements are taken from completed runs, by which model, and how many of each run."""

    enabled: bool = False
    model: str = ""
    timeout_s: int = 15
    max_candidates_per_run: int = 2


@dataclass(frozen=True, kw_only=True)
class CapturePolicy:
    """What becomes a candidate by itself."""

    run_summary_candidates: bool = True
    own_words: OwnWords = OwnWords.PROPOSE
    semantic_candidates: SemanticCapture = SemanticCapture()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: every matcher that is set has to hold. A true `require_...` never matches API origin."""

    action: Action
    name: str = ""
    scope_kind: ScopeKind | None = None
    scope_id: str = ""
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    min_confidence: int = 0
    require_evidence: bool = False
    require_source_run: bool = False
    require_source_session: bool = False
    expires_after_days: int | None = None


@dataclass(frozen=True, kw_only=True)
class PublicationPolicy:
    """What becomes of candidates: the rules in their order, and what happens where none matches."""

    default_action: Action = Action.MANUAL_REVIEW
    allow_api_origin_active_publication: bool = False
    witnesses: tuple[Witness, ...] = (Witness.USER, Witness.OUTCOMES)
    quarantined_rule_names: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, kw_only=True)
class JudgePolicy:
    """Whether a model gives its opinion behind the rules, which one, and how long it may take."""

    enabled: bool = False
    model: str = ""
    timeout_s: int = 15


@dataclass(frozen=True, kw_only=True)
class ModelBudget:
    """How much each purpose may ask of models in one day (UTC). `batch_tokens` is how much of sessions goes
    into one question, so that it fits the window of the model."""

    calls_per_day: int = 500
    tokens_per_day: int = 1_000_000
    batch_tokens: int = 12_000


@dataclass(frozen=True, kw_only=True)
class ProjectionPolicy:
    """How many learnings an input is given, how many tokens they may take, and from how many runs of a
    hundred each is held back on purpose, except those named and standing rules."""

    max_entries: int = 12
    budget_tokens: int = 1_500
    holdback_percent: int = 0
    never_held_back: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LearningPolicy:
    """The whole policy. Left alone it watches (`shadow`) and changes nothing."""

    mode: Mode = Mode.SHADOW
    capture: CapturePolicy = CapturePolicy()
    publication: PublicationPolicy = PublicationPolicy()
    judge: JudgePolicy = JudgePolicy()
    model_budget: ModelBudget = ModelBudget()
    projection: ProjectionPolicy = ProjectionPolicy()
