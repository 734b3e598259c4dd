"""Prompt injection: texts that seem to speak to the agent, or hide something from people (TNT-4).

A flag decides nothing by itself: such a text waits for a person, whatever the policy says.
"""

from runlore.domain.suspicion.flagging import flag_suspicious, is_order
from runlore.domain.suspicion.scan import hiding, suspicions

__all__ = ["flag_suspicious", "hiding", "is_order", "suspicions"]
