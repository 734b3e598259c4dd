"""Which model Runlore's own agent works with: the one that a caller names, or the configured one."""

from runlore.daemon.parts import Parts
from runlore.domain.errors import Invalid
from runlore.ports.model import ModelFailure


def resolved_model(parts: Parts, named: str) -> str:
    """The whole name of a model. Invalid where the caller names one that is not set up here; ModelFailure
    where the configured one cannot be asked, or there is no key."""
    try:
        return parts.chat.resolve(named or parts.agent_settings.model)
    except ModelFailure as failure:
        if not named or failure.code != "model.unknown":
            raise
        raise Invalid(failure.sentence, code="model.unknown", hint=failure.hint) from None
