"""A second formulation of what a policy says of a candidate, written for nothing but comparing.

It works on documents, not on values: the policy and the record as JSON holds them. Every rule is asked
everything; the answer is then read off the sets of what held.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

Document = dict[str, Any]
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
PROMPTED = ("fact", "preference", "decision")

# Each matcher with when it is open, and when it is met.
MATCHERS: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Document], bool]]] = {
    "scope_kind": (lambda wanted: wanted is None, lambda wanted, record: record["scope"]["kind"] == wanted),
    "scope_id": (lambda wanted: wanted == "", lambda wanted, record: record["scope"]["id"] == wanted),
    "kind": (lambda wanted: wanted is None, lambda wanted, record: record["kind"] == wanted),
    "sensitivity": (lambda wanted: wanted is None, lambda wanted, record: record["sensitivity"] == wanted),
    "min_confidence": (lambda wanted: wanted == 0, lambda wanted, record: not record["confidence"] < wanted),
    "require_evidence": (
        lambda wanted: wanted is False,
        lambda _, record: record["origin"] == "daemon" and len(record["evidence_refs"]) > 0,
    ),
    "require_source_run": (
        lambda wanted: wanted is False,
        lambda _, record: record["origin"] == "daemon" and record["source"]["run_id"] not in (None, ""),
    ),
    "require_source_session": (
        lambda wanted: wanted is False,
        lambda _, record: record["origin"] == "daemon" and record["source"]["session_id"] not in (None, ""),
    ),
}


class Said(NamedTuple):
    """What the reference says: the action, the rule's name, and when it expires, in milliseconds."""

    action: str
    rule: str
    expires_ms: int | None


def said_of(record: Document, policy: Document, now: datetime) -> Said:
    """The action, the rule and the expiry, by brute force."""
    rules = policy["publication"]["rules"]
    passed_over = {name.casefold() for name in policy["publication"]["quarantined_rule_names"]}
    usable = {place for place, rule in enumerate(rules) if rule["name"].casefold() not in passed_over}
    failing = {
        place
        for place, rule in enumerate(rules)
        for name, (is_open, is_met) in MATCHERS.items()
        if not is_open(rule[name]) and not is_met(rule[name], record)
    }
    deciding = sorted(usable - failing)[:1]
    action, rule, days = policy["publication"]["default_action"], "", None
    for place in deciding:
        action, days = rules[place]["action"], rules[place]["expires_after_days"]
        rule = rules[place]["name"] if rules[place]["name"] else "rule " + str(1 + place)
    return Said(_after_the_gates(action, record, policy), rule, _expiry(record, days, now))


def _after_the_gates(action: str, record: Document, policy: Document) -> str:
    tainted = record["provenance"]["untrusted"] or record["provenance"]["needs_review"]
    api = record["origin"] == "api"
    opted_in = policy["publication"]["allow_api_origin_active_publication"]
    return {
        "reject": "reject",
        "manual_review": "manual_review",
        "publish_provisional": "manual_review" if tainted else "publish_provisional",
        "publish_active": (
            "manual_review"
            if tainted or record["kind"] not in PROMPTED
            else "publish_provisional"
            if api and not opted_in
            else "publish_active"
        ),
    }[action]


def _expiry(record: Document, days: int | None, now: datetime) -> int | None:
    ends = []
    if record["expires_at"] is not None:
        ends.append(_milliseconds(datetime.fromisoformat(record["expires_at"])))
    if days is not None:
        ends.append(_milliseconds(now) + days * 86_400_000)
    return sorted(ends)[0] if ends else None


def _milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)
