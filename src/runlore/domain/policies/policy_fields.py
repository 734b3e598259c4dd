"""The fields of the learning policy: one table that reads it, checks it, writes it back and describes it.

What a document leaves out takes its default, what it does not know is refused with the field's path, and a
policy that is refused takes no effect at all. A quarantined name that no rule has is kept: a rule can be
quarantined before it is added, and `unknown_quarantine` tells of it.
"""

from collections.abc import Iterable

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.guard.entry import without_secret
from runlore.domain.policies.learning_policy import (
    Action,
    CapturePolicy,
    JudgePolicy,
    LearningPolicy,
    Mode,
    ModelBudget,
    OwnWords,
    ProjectionPolicy,
    PublicationPolicy,
    Rule,
    SemanticCapture,
    Witness,
)
from runlore.domain.policies.policy_shapes import (
    Many,
    ModelName,
    PolicyField,
    RuleName,
    ScopeIdText,
    Table,
    Whole,
    WordChoice,
    bad_field,
)
from runlore.domain.record import LEARNING_KINDS, PROMPT_KINDS, JsonObject, JsonValue, Kind, Sensitivity
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.worth.holdback import PERCENT_MAX

PROMPT_KIND_NAMES: list[JsonValue] = [kind.value for kind in Kind if kind in PROMPT_KINDS]
_TIMEOUT = Whole(least=1, most=600)


def learning_policy(document: JsonObject) -> LearningPolicy:
    return LEARNING.read("", document)


def projection_policy(document: JsonObject) -> ProjectionPolicy:
    """Read only what a prompt needs to know of a learning policy, every time that it asks."""
    return PROJECTION.read("projection", document.get("projection", {}))


def capture_policy(document: JsonObject) -> CapturePolicy:
    """Read only what the end of a run needs to know of a learning policy."""
    return CAPTURE.read("capture", document.get("capture", {}))


def learning_policy_to_plain(policy: LearningPolicy) -> dict[str, JsonValue]:
    return LEARNING.plain(policy)


def without_secrets(policy: LearningPolicy) -> LearningPolicy:
    """The policy; Refused with the field's path where a text of it looks like it holds a secret.

    Asked when a policy is put, not when it is read: one that is in force stays readable.
    """
    rules = policy.publication.rules
    texts = (
        ("capture.semantic_candidates.model", policy.capture.semantic_candidates.model),
        ("judge.model", policy.judge.model),
        *((f"publication.rules[{place}].name", rule.name) for place, rule in enumerate(rules)),
        *((f"publication.rules[{place}].scope_id", rule.scope_id) for place, rule in enumerate(rules)),
        *(
            (f"publication.quarantined_rule_names[{place}]", name)
            for place, name in enumerate(policy.publication.quarantined_rule_names)
        ),
        *(
            (f"projection.never_held_back[{place}]", name)
            for place, name in enumerate(policy.projection.never_held_back)
        ),
    )
    for path, text in texts:
        without_secret(path, text)
    return policy


def unknown_quarantine(policy: LearningPolicy) -> tuple[str, ...]:
    """The quarantined names that no rule has: perhaps misspelt, perhaps of a rule that is still to come."""
    names = {rule.name.casefold() for rule in policy.publication.rules if rule.name}
    return tuple(name for name in policy.publication.quarantined_rule_names if name.casefold() not in names)


def _check_rule(path: str, rule: Rule) -> None:
    if rule.action is Action.PUBLISH_ACTIVE:
        kinds = ", ".join(str(kind) for kind in PROMPT_KIND_NAMES)
        if rule.kind is None:
            raise bad_field(
                f"{path}.kind", f"is missing: a rule that publishes actively names one of {kinds}"
            )
        if rule.kind not in PROMPT_KINDS:
            raise bad_field(f"{path}.kind", f"is {rule.kind}, which is never published actively; {kinds} are")
    if rule.scope_id and rule.scope_kind is None:
        raise bad_field(f"{path}.scope_id", "is given without scope_kind")
    if rule.scope_id and rule.scope_kind is not None:
        try:
            Scope(rule.scope_kind, rule.scope_id)
        except Invalid as wrong:
            raise bad_field(f"{path}.scope_id", f"names no scope: {wrong.sentence[:200]}") from None


def _check_publication(path: str, policy: PublicationPolicy) -> None:
    named = ((f"{path}.rules[{place}].name", rule.name) for place, rule in enumerate(policy.rules))
    _check_different((where, name) for where, name in named if name)
    _check_different(
        (f"{path}.quarantined_rule_names[{place}]", name)
        for place, name in enumerate(policy.quarantined_rule_names)
    )


def _check_different(names: Iterable[tuple[str, str]]) -> None:
    seen: dict[str, str] = {}
    for path, name in names:
        first = seen.setdefault(name.casefold(), path)
        if first != path:
            raise bad_field(path, f"is the same as {first}; case does not count")


SEMANTIC = Table(
    made=SemanticCapture,
    fields=(
        PolicyField(
            name="enabled",
            about="Whether facts, preferences and decisions are taken from completed runs. Labels in the"
            " request (`Fact:`, `Preference:`, `Decision:`) and what it asks to remember (`remember that"
            " ...`) need no model. Runs that ended while it was off are left alone until"
            " `runlore capture backfill`.",
            requirement="CAP-2",
            example="[capture.semantic_candidates]\nenabled = true",
        ),
        PolicyField(
            name="model",
            shape=ModelName(),
            about="The model that extracts, instead of the configured one. Never an address: the addresses of"
            " providers are settings.",
            requirement="CAP-4",
            example='[capture.semantic_candidates]\nenabled = true\nmodel = "openai:gpt-5-mini"',
        ),
        PolicyField(
            name="timeout_s",
            shape=_TIMEOUT,
            about="How many seconds an extraction may take. After that only labels count.",
            requirement="CAP-4",
            example="[capture.semantic_candidates]\ntimeout_s = 30",
        ),
        PolicyField(
            name="max_candidates_per_run",
            shape=Whole(least=1, most=8),
            about="How many candidates one run can leave.",
            requirement="CAP-2",
            example="[capture.semantic_candidates]\nmax_candidates_per_run = 4",
        ),
    ),
)

CAPTURE = Table(
    made=CapturePolicy,
    fields=(
        PolicyField(
            name="run_summary_candidates",
            about="Whether every terminal run leaves a `run_summary` candidate: material for reviewers that"
            " no prompt gets, gone after 30 days.",
            requirement="CAP-1",
            example="[capture]\nrun_summary_candidates = false",
        ),
        PolicyField(
            name="own_words",
            shape=WordChoice(words=tuple(OwnWords)),
            about="Whether statements of users that hold beyond the current task (rules, preferences,"
            " conventions, reasons for refusing a call) become candidates, quoted as they were said and found"
            " without a model: `propose` or `off`. Runs that ended while it was `off` are left alone.",
            requirement="CAP-8",
            example='[capture]\nown_words = "off"',
        ),
        PolicyField(
            name="semantic_candidates",
            shape=SEMANTIC,
            about="What is taken from completed runs, and by which model.",
            requirement="CAP-2",
        ),
    ),
)

RULE = Table(
    made=Rule,
    check=_check_rule,
    fields=(
        PolicyField(
            name="name",
            shape=RuleName(),
            about="The rule's name in reviews, in filters and in the quarantine. A rule without one is"
            " identified by its position, such as `rule 3`. No two rules share a name, case ignored.",
            requirement="POL-4",
            example='[[publication.rules]]\nname = "session facts"\naction = "manual_review"',
        ),
        PolicyField(
            name="scope_kind",
            shape=WordChoice(words=tuple(ScopeKind), optional=True),
            about="Only candidates of this kind of scope.",
            requirement="POL-2",
            example='[[publication.rules]]\nscope_kind = "session"\naction = "publish_provisional"',
        ),
        PolicyField(
            name="scope_id",
            shape=ScopeIdText(),
            about="Only candidates of this scope. It needs `scope_kind`; the workspace's id is `default`.",
            requirement="POL-2",
            example='[[publication.rules]]\nscope_kind = "project"\nscope_id = "acme"\naction = "reject"',
        ),
        PolicyField(
            name="kind",
            shape=WordChoice(words=tuple(kind for kind in Kind if kind in LEARNING_KINDS), optional=True),
            about="Only candidates of this kind. A rule that publishes actively has to name `fact`,"
            " `decision` or `preference`: no prompt gets the others.",
            requirement="POL-5",
            example='[[publication.rules]]\nkind = "procedure"\naction = "publish_provisional"',
        ),
        PolicyField(
            name="sensitivity",
            shape=WordChoice(words=tuple(Sensitivity), optional=True),
            about="Only candidates of this sensitivity.",
            requirement="POL-2",
            example='[[publication.rules]]\nsensitivity = "sensitive"\naction = "manual_review"',
        ),
        PolicyField(
            name="min_confidence",
            shape=Whole(least=0, most=limits.CONFIDENCE_MAX),
            about="Only candidates of at least this confidence.",
            requirement="POL-2",
            example='[[publication.rules]]\nmin_confidence = 90\naction = "publish_provisional"',
        ),
        PolicyField(
            name="require_evidence",
            about="Only candidates with evidence. A candidate that came through the API never matches: its"
            " evidence is kept and not trusted.",
            requirement="POL-2",
            example='[[publication.rules]]\nrequire_evidence = true\naction = "publish_provisional"',
        ),
        PolicyField(
            name="require_source_run",
            about="Only candidates that Runlore took from a run; never one that came through the API.",
            requirement="POL-2",
            example='[[publication.rules]]\nrequire_source_run = true\naction = "publish_provisional"',
        ),
        PolicyField(
            name="require_source_session",
            about="Only candidates that Runlore took from a session; never one that came through the API.",
            requirement="POL-2",
            example='[[publication.rules]]\nrequire_source_session = true\naction = "publish_provisional"',
        ),
        PolicyField(
            name="action",
            shape=WordChoice(words=tuple(Action)),
            about="What becomes of a candidate that matches. `publish_active` lets prompts use it, if Runlore"
            " finds support for it in the run; without support, and with `publish_provisional`, it is"
            " published in the provisional tier, which no prompt gets. No rule publishes anything from an"
            " untrusted source.",
            requirement="POL-3",
            example='[[publication.rules]]\nkind = "fact"\naction = "publish_active"',
            required=True,
        ),
        PolicyField(
            name="expires_after_days",
            shape=Whole(least=1, most=3_650, optional=True),
            about="How many days after its review a published candidate expires, if it does not expire"
            " earlier by itself.",
            requirement="POL-3",
            example='[[publication.rules]]\nkind = "fact"\naction = "publish_active"\n'
            "expires_after_days = 90",
        ),
    ),
)

PUBLICATION = Table(
    made=PublicationPolicy,
    check=_check_publication,
    fields=(
        PolicyField(
            name="default_action",
            shape=WordChoice(
                words=tuple(action for action in Action if action is not Action.PUBLISH_ACTIVE),
                refused={
                    Action.PUBLISH_ACTIVE.value: "only a rule that names its kind publishes actively, so the"
                    " default is manual_review, reject or publish_provisional"
                },
            ),
            about="What becomes of a candidate that no rule matches. Never `publish_active`.",
            requirement="POL-2",
            example='[publication]\ndefault_action = "reject"',
        ),
        PolicyField(
            name="allow_api_origin_active_publication",
            about="Whether `publish_active` applies to candidates that came through the API. Otherwise they"
            " are published in the provisional tier.",
            requirement="POL-4",
            example="[publication]\nallow_api_origin_active_publication = true",
        ),
        PolicyField(
            name="witnesses",
            shape=Many(shape=WordChoice(words=tuple(Witness)), most=len(Witness), things="witnesses"),
            about="Whose word supports a statement: `user` is what users typed, `outcomes` exit codes, tests"
            " and versions of recorded commands. `assistant` believes agents that read nothing from outside.",
            requirement="POL-13",
            example='[publication]\nwitnesses = ["user", "outcomes"]',
        ),
        PolicyField(
            name="quarantined_rule_names",
            shape=Many(shape=RuleName(blank=False), most=limits.POLICY_RULES_MAX, things="names"),
            about="Rules that are passed over without being deleted; case is ignored. A name that no rule"
            " has is kept, and `runlore policy show` points to it.",
            requirement="POL-4",
            example='[publication]\nquarantined_rule_names = ["session facts"]',
        ),
        PolicyField(
            name="rules",
            shape=Many(shape=RULE, most=limits.POLICY_RULES_MAX, things="rules"),
            about="The rules in their order: the first that matches decides. Every matcher that is set has"
            " to hold; a rule with none matches everything.",
            requirement="POL-2",
            example='[[publication.rules]]\nname = "session facts with evidence"\nscope_kind = "session"\n'
            'kind = "fact"\nmin_confidence = 90\nrequire_evidence = true\naction = "publish_active"\n\n'
            '[[publication.rules]]\nname = "nothing sensitive"\nsensitivity = "sensitive"\n'
            'action = "reject"',
        ),
    ),
)

JUDGE = Table(
    made=JudgePolicy,
    fields=(
        PolicyField(
            name="enabled",
            about="Whether a model reviews after the rules. It can make their decision stricter, never"
            " looser, and is not asked if they say `manual_review`.",
            requirement="POL-7",
            example="[judge]\nenabled = true",
        ),
        PolicyField(
            name="model",
            shape=ModelName(),
            about="The model that judges, instead of the configured one.",
            requirement="POL-7",
            example='[judge]\nenabled = true\nmodel = "anthropic:claude-sonnet-4-5"',
        ),
        PolicyField(
            name="timeout_s",
            shape=_TIMEOUT,
            about="How many seconds the judge may take. After them the candidate waits for an operator"
            " (`enabled`), or the rules' answer is noted with the failure (`shadow`).",
            requirement="POL-7",
            example="[judge]\nenabled = true\ntimeout_s = 30",
        ),
    ),
)

BUDGET = Table(
    made=ModelBudget,
    fields=(
        PolicyField(
            name="calls_per_day",
            shape=Whole(least=0, most=1_000_000),
            about="How often each purpose (extraction, judge, enhancement, reading) may ask a model in one"
            " day (UTC). Then the work waits for the next day, and says so.",
            requirement="POL-12",
            example="[model_budget]\ncalls_per_day = 50",
        ),
        PolicyField(
            name="tokens_per_day",
            shape=Whole(least=0, most=10_000_000_000),
            about="How many tokens each purpose may use in one day (UTC), questions and answers together.",
            requirement="POL-12",
            example="[model_budget]\ntokens_per_day = 200_000",
        ),
        PolicyField(
            name="batch_tokens",
            shape=Whole(least=1_000, most=1_000_000),
            about="About how many tokens of sessions `learn --enhance` puts into one question. Set it to a"
            " third of the window of a small model.",
            requirement="SKL-20",
            example="[model_budget]\nbatch_tokens = 2_500",
        ),
    ),
)

PROJECTION = Table(
    made=ProjectionPolicy,
    fields=(
        PolicyField(
            name="max_entries",
            shape=Whole(least=0, most=100),
            about="How many learnings an input is given at most.",
            requirement="PRJ-2",
            example="[projection]\nmax_entries = 6",
        ),
        PolicyField(
            name="budget_tokens",
            shape=Whole(least=0, most=100_000),
            about="How many tokens they may take together. One that is too large is passed over.",
            requirement="PRJ-2",
            example="[projection]\nbudget_tokens = 800",
        ),
        PolicyField(
            name="holdback_percent",
            shape=Whole(least=0, most=PERCENT_MAX),
            about="From how many runs of a hundred each learning is held back on purpose, and from those of"
            " Runlore's own agent each skill, so that what it is worth can be said. Standing rules are never"
            " held back.",
            requirement="VAL-2",
            example="[projection]\nholdback_percent = 10",
        ),
        PolicyField(
            name="never_held_back",
            shape=Many(shape=RuleName(blank=False), most=limits.POLICY_RULES_MAX, things="ids"),
            about="Records and skills that are given whatever is held back, by their ids.",
            requirement="VAL-2",
            example='[projection]\nnever_held_back = ["mem_01J9ZK5T3M8W2Q4R6S8V0X2Y4Z"]',
        ),
    ),
)

LEARNING = Table(
    made=LearningPolicy,
    fields=(
        PolicyField(
            name="mode",
            shape=WordChoice(words=tuple(Mode)),
            about="How far automation goes: `manual_only` reviews nothing, `shadow` notes on each candidate"
            " what it would do, `enabled` does it.",
            requirement="POL-1",
            example='mode = "enabled"',
        ),
        PolicyField(name="capture", shape=CAPTURE, about="What becomes a candidate.", requirement="CAP-1"),
        PolicyField(
            name="publication", shape=PUBLICATION, about="What becomes of candidates.", requirement="POL-2"
        ),
        PolicyField(
            name="judge", shape=JUDGE, about="A model's opinion after the rules.", requirement="POL-7"
        ),
        PolicyField(
            name="model_budget", shape=BUDGET, about="How much models are asked.", requirement="POL-12"
        ),
        PolicyField(
            name="projection", shape=PROJECTION, about="What an input is given.", requirement="PRJ-2"
        ),
    ),
)
