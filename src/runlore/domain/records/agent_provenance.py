"""What rests on an agent's word: words of a caller that nobody else answers for.

An agent says which of its conversations a text is from. Within that conversation nobody else is told it;
wider than that, the word of the agent is noted, and automation does not take its own runs as witnesses.
"""

from runlore.domain.record import Origin, Record
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.taint import TRUSTED, Provenance

_AGENT = "agent"


def provenance_of_agent(actor: str, scope: Scope, *, names_run: bool) -> Provenance:
    """What is noted of a text that an agent says for a scope; its conversations say whether it is tainted."""
    if not names_run:
        return Provenance(sources=(f"{_AGENT} {actor} named no run",))
    if scope.kind is ScopeKind.SESSION:
        return TRUSTED
    return Provenance(sources=(f"{_AGENT} {actor}, for {scope}",))


def rests_on_agents_word(record: Record) -> bool:
    """Whether a record was made on an agent's word, also after an operator has accepted it."""
    begins = (f"{_AGENT} {record.created_by} named ", f"{_AGENT} {record.created_by}, for ")
    return record.origin is Origin.API and any(
        source.startswith(begins) for source in record.provenance.sources
    )
