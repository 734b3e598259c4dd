"""Which texts rest on an agent's word, and that this stays known when an operator has accepted one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.record import Origin
from runlore.domain.records.agent_provenance import provenance_of_agent, rests_on_agents_word
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint import TRUSTED, Provenance, inherit
from tests.builders import ACME, fact

names = st.text("ab ,:", min_size=1, max_size=6).map(lambda text: f"x{text}x")
scopes = st.sampled_from([Scope(ScopeKind.SESSION, "s"), ACME, WORKSPACE])


@pytest.mark.req("TNT-1", "POL-9")
@given(names, names, scopes, st.booleans(), st.sampled_from(Origin))
def test_a_word_for_more_than_its_own_conversation_is_told_from_all_others(
    actor: str, other: str, scope: Scope, names_run: bool, origin: Origin
) -> None:
    word = provenance_of_agent(actor, scope, names_run=names_run)
    is_narrow = names_run and scope.kind is ScopeKind.SESSION
    page = Provenance(untrusted=True, needs_review=True, sources=("https://e.org",))

    assert not word.tainted
    assert bool(word.sources) is not is_narrow
    for provenance in (word, word.clear(), inherit([page, word])):
        record = replace(fact(), created_by=actor, origin=origin, provenance=provenance)
        assert rests_on_agents_word(record) is (origin is Origin.API and not is_narrow)
    assert not rests_on_agents_word(replace(fact(), created_by=actor, origin=origin, provenance=TRUSTED))
    if not other.startswith(actor) and not actor.startswith(other):
        theirs = replace(fact(), created_by=other, origin=Origin.API, provenance=word)
        assert not rests_on_agents_word(theirs)
