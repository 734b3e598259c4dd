"""A second formulation of which records a prompt may get, from LRN-3, LRN-4, LRN-11 and TNT-2.

It reads a record's document, and collects every reason that speaks against it, in no order.
"""

from datetime import datetime
from typing import Any


def reasons_against(record: dict[str, Any], now: datetime, *, shadowed: bool, planning: bool) -> set[str]:
    """All reasons that keep a record out of prompts, in their words; none where it is visible."""
    expires_at = record["expires_at"]
    decision, verification = record["policy_decision"], record["verification_status"]
    eligible = {"fact", "preference", "decision"} | ({"procedure"} if planning else set())
    against = {
        "waiting for review": record["state"] == "constrained",
        "superseded": record["state"] == "superseded",
        "tombstoned": record["state"] == "tombstoned",
        "being superseded": record["state"] == "active" and (shadowed or record["superseded_by"] is not None),
        "expired": expires_at is not None and not datetime.fromisoformat(expires_at) > now,
        "not a kind that prompts get": record["kind"] not in eligible,
        "sensitive": record["sensitivity"] != "normal",
        "provisional tier": record["publish_tier"] != "active",
        "verification failed": verification == "failed",
        "escalated to an operator": decision == "escalated",
        "published automatically and not verified": decision == "automatic" and verification != "verified",
        "from an untrusted source and not yet accepted": record["provenance"]["untrusted"]
        or record["provenance"]["needs_review"],
    }
    return {reason for reason, speaks in against.items() if speaks}
