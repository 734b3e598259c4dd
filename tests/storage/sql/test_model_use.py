"""How much models were used: added up by purpose and day, and never more than a budget, whoever counts."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Invalid
from runlore.ports.store import DayUse, Store
from tests.examples import scaled
from tests.storage.places import PostgresPlace
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("POL-12", "OPS-4")

PURPOSES = ("judge", "capture", "it's ?")
DAYS = ("2026-01-30", "2026-01-31", "2026-02-01")
uses = st.builds(
    DayUse,
    purpose=st.sampled_from(PURPOSES),
    day=st.sampled_from(DAYS),
    calls=st.integers(0, 3),
    failures=st.integers(0, 2),
    input_tokens=st.integers(0, 2**40),
    output_tokens=st.integers(0, 50),
    cost_micro_usd=st.integers(0, 50),
)


def test_after_any_calls_the_days_add_up_and_a_spent_budget_counts_nothing(store: Store) -> None:
    kept: dict[tuple[str, str], DayUse] = {}

    @settings(max_examples=scaled(26), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        use=uses,
        calls_max=st.integers(-1, 12),
        tokens_max=st.integers(-1, 2**42),
        since=st.sampled_from(DAYS),
    )
    def holds(use: DayUse, calls_max: int, tokens_max: int, since: str) -> None:
        key = (use.purpose, use.day)
        used = kept.get(key, DayUse(purpose=use.purpose, day=use.day))
        is_left = used.calls < calls_max and used.input_tokens + used.output_tokens < tokens_max
        with store.transaction() as tx:
            begun = tx.model_use.begin(use.purpose, use.day, calls_max=calls_max, tokens_max=tokens_max)
        assert begun == is_left
        if begun:
            used = replace(used, calls=used.calls + 1)
        with store.transaction() as tx:
            tx.model_use.end(use)
        kept[key] = replace(
            used,
            failures=used.failures + use.failures,
            input_tokens=used.input_tokens + use.input_tokens,
            output_tokens=used.output_tokens + use.output_tokens,
            cost_micro_usd=used.cost_micro_usd + use.cost_micro_usd,
        )
        later = sorted((each for each in kept.values() if each.day >= since), key=lambda each: each.purpose)
        later.sort(key=lambda each: each.day, reverse=True)
        with store.snapshot() as snapshot:
            assert list(snapshot.model_use.since(since)) == later

    holds()


def test_many_who_ask_at_once_never_exceed_the_budget(store: Store) -> None:
    together = threading.Barrier(8)

    def ask(_: int) -> int:
        together.wait(PATIENCE_S)
        begun = 0
        for _ in range(20):
            with store.transaction() as tx:
                begun += tx.model_use.begin("judge", DAYS[0], calls_max=50, tokens_max=1)
        return begun

    with ThreadPoolExecutor(8) as pool:
        begun = sum(pool.map(ask, range(8)))

    assert begun == 50
    with store.snapshot() as snapshot:
        assert snapshot.model_use.since(DAYS[0]) == (DayUse(purpose="judge", day=DAYS[0], calls=50),)


def test_whoever_asks_for_the_last_call_waits_for_whoever_may_give_it_back(
    postgres_place: PostgresPlace,
) -> None:
    first, second = postgres_place.open(), postgres_place.open()

    with ThreadPoolExecutor(1) as pool:
        late: list[Future[bool]] = []
        with suppress(ZeroDivisionError):
            _give_the_last_call_back(first, lambda: late.append(pool.submit(_ask, second)))
        assert late[0].result(timeout=PATIENCE_S)
    assert not _ask(second)


def _ask(store: Store) -> bool:
    with store.transaction() as tx:
        return tx.model_use.begin("judge", DAYS[0], calls_max=1, tokens_max=1)


def _give_the_last_call_back(store: Store, meanwhile: Callable[[], None]) -> None:
    with store.transaction() as tx:
        assert tx.model_use.begin("judge", DAYS[0], calls_max=1, tokens_max=1)
        meanwhile()
        raise ZeroDivisionError


def test_what_no_database_holds_is_refused(store: Store) -> None:
    with pytest.raises(Invalid), store.transaction() as tx:
        tx.model_use.begin("\0", DAYS[0], calls_max=1, tokens_max=1)
    with pytest.raises(Invalid), store.transaction() as tx:
        tx.model_use.end(DayUse(purpose="judge", day="\0"))
    with store.snapshot() as snapshot:
        assert snapshot.model_use.since("") == ()
