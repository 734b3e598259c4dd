"""What one call may cost the secret guard, however many texts it brings."""

from runlore.domain.guard.view import one_allowance

__all__ = ["one_allowance"]
