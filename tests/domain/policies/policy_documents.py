"""Learning policies for tests: documents that are right, and policies whose rules meet the records made here.

The vocabulary is small on purpose: rules, quarantines and records have to meet often.
"""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from runlore.domain.policies.learning_policy import (
    Action,
    CapturePolicy,
    JudgePolicy,
    LearningPolicy,
    Mode,
    ModelBudget,
    ProjectionPolicy,
    PublicationPolicy,
    Rule,
    SemanticCapture,
)
from runlore.domain.record import (
    LEARNING_KINDS,
    PROMPT_KINDS,
    EvidenceRef,
    JsonValue,
    Kind,
    Origin,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
)
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint import Provenance
from tests.fakes import START

NAMES = ("facts", "Facts", "FACTS", "notes", "straße", "STRASSE", "İ", "")
KINDS = [kind for kind in Kind if kind in LEARNING_KINDS]
SCOPES = [
    WORKSPACE,
    *(Scope(kind, id) for kind in ScopeKind if kind is not ScopeKind.WORKSPACE for id in ("acme", "Acme")),
]
PLACES = [(None, ""), *((kind, "") for kind in ScopeKind), *((scope.kind, scope.id) for scope in SCOPES)]
models = st.sampled_from(["", "openai:gpt-5-mini", "ollama:qwen2.5:7b", "a-b_C9:x"])
timeouts = st.integers(1, 600)
sources = st.sampled_from([None, "", "ses_1"])


@st.composite
def rules(draw: st.DrawFn, *, names: st.SearchStrategy[str]) -> Rule:
    """Any rule that a policy can hold. Most set few matchers: a rule that sets all hardly ever matches."""
    action = draw(st.sampled_from(Action))
    scope_kind, scope_id = draw(st.sampled_from(PLACES))
    matchers: dict[str, Any] = {
        "place": None,
        "kind": draw(st.sampled_from(KINDS)),
        "sensitivity": draw(st.sampled_from(Sensitivity)),
        "min_confidence": draw(st.sampled_from([1, 50, 99, 100])),
        "require_evidence": True,
        "require_source_run": True,
        "require_source_session": True,
    }
    few = draw(st.sampled_from([1, 1, 2, 3, len(matchers)]))
    chosen = draw(st.sets(st.sampled_from(sorted(matchers)), max_size=few))
    given = {name: value for name, value in matchers.items() if name in chosen}
    if given.pop("place", True) is None:
        given |= {"scope_kind": scope_kind, "scope_id": scope_id}
    if action is Action.PUBLISH_ACTIVE:
        given["kind"] = draw(st.sampled_from(sorted(PROMPT_KINDS)))
    days = draw(st.none() | st.integers(1, 3_650))
    return Rule(action=action, name=draw(names), expires_after_days=days, **given)


@st.composite
def publications(draw: st.DrawFn) -> PublicationPolicy:
    """Any publication policy: names differ beyond their case, and the quarantine may name nobody."""
    many = draw(st.lists(rules(names=st.sampled_from(NAMES)), max_size=5))
    named = {rule.name.casefold(): rule for rule in many if rule.name}
    kept = [rule for rule in many if not rule.name or named[rule.name.casefold()] is rule]
    names = st.sampled_from([name for name in NAMES if name] + ["none has this name"])
    quarantined = draw(st.lists(names, unique_by=str.casefold, max_size=2))
    return PublicationPolicy(
        default_action=draw(st.sampled_from([action for action in Action if action != "publish_active"])),
        allow_api_origin_active_publication=draw(st.booleans()),
        quarantined_rule_names=tuple(quarantined),
        rules=tuple(kept),
    )


policies = st.builds(
    LearningPolicy,
    mode=st.sampled_from(Mode),
    capture=st.builds(
        CapturePolicy,
        run_summary_candidates=st.booleans(),
        semantic_candidates=st.builds(
            SemanticCapture,
            enabled=st.booleans(),
            model=models,
            timeout_s=timeouts,
            max_candidates_per_run=st.integers(1, 8),
        ),
    ),
    publication=publications(),
    judge=st.builds(JudgePolicy, enabled=st.booleans(), model=models, timeout_s=timeouts),
    model_budget=st.builds(
        ModelBudget, calls_per_day=st.integers(0, 1_000_000), tokens_per_day=st.integers(0, 10_000_000_000)
    ),
    projection=st.builds(
        ProjectionPolicy, max_entries=st.integers(0, 100), budget_tokens=st.integers(0, 100_000)
    ),
)


@st.composite
def candidates(draw: st.DrawFn) -> Record:
    """A candidate that waits, with everything that a rule can look at."""
    kind = draw(st.sampled_from(KINDS))
    expiry = st.integers(-1, 4_000 * 24 * 3_600).map(lambda seconds: START + timedelta(seconds=seconds))
    return Record(
        record_id=RecordId("rec_1"),
        layer=kind.layer,
        kind=kind,
        state=State.CONSTRAINED,
        scope=draw(st.sampled_from(SCOPES)),
        summary="The codename is Atlas",
        confidence=draw(st.sampled_from([0, 1, 49, 50, 98, 99, 100])),
        sensitivity=draw(st.sampled_from(Sensitivity)),
        origin=draw(st.sampled_from(Origin)),
        created_by="operator",
        source=Source(session_id=draw(sources), run_id=draw(sources)),
        evidence_refs=draw(st.sampled_from([(), (EvidenceRef(run_id="run_1"),)])),
        provenance=Provenance(untrusted=draw(st.booleans()), needs_review=draw(st.booleans())),
        created_at=START,
        expires_at=draw(st.none() | expiry),
    )


def rule_document(**fields: JsonValue) -> dict[str, JsonValue]:
    """A document with one rule."""
    return {"publication": {"rules": [{"action": "manual_review", **fields}]}}
