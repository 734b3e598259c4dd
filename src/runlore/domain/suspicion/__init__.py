"""Texts that look as if they spoke to the agent, or hid something from people (TNT-4).

A flag decides nothing by itself: such a text waits for a person, whatever the policy says.
"""

from runlore.domain.suspicion.flagging import flagged
from runlore.domain.suspicion.looking import hiding, suspicions
from runlore.domain.suspicion.orders import is_order

__all__ = ["flagged", "hiding", "is_order", "suspicions"]
