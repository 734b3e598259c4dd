"""What a refused confirmation advises: only what the caller can do."""

from datetime import timedelta

import pytest

from runlore.domain.claims.contradictions import Surroundings
from runlore.domain.records.publication import consequences
from tests.builders import fact, published
from tests.fakes import START

NOW = START + timedelta(days=1)


@pytest.mark.req("LRN-6")
def test_who_replaces_one_record_is_not_advised_to_name_a_second() -> None:
    old, other = published(fact("The codename is Atlas")), published(fact("The codename is Cygnus"))
    around = Surroundings(same_subject=(old, other), named=old)

    (obstacle,) = consequences(fact("The codename is Borealis"), around, NOW).obstacles

    assert "--supersedes" not in obstacle.hint
    assert f"revoke {other.record_id}" in obstacle.hint
    assert f"--both-hold {other.record_id}" in obstacle.hint
