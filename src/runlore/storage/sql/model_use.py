"""How much models were used, by purpose and day, in SQL that both databases run."""

from runlore.ports.store import DayUse
from runlore.storage.sql.columns import check_storable
from runlore.storage.sql.session import SqlCollection, in_list, writing

_AMOUNTS = ("failures", "input_tokens", "output_tokens", "cost_micro_usd")
_COLUMNS = ("purpose", "day", "calls", *_AMOUNTS)
_INSERT = f"INSERT INTO model_use ({', '.join(_COLUMNS)}) VALUES ({in_list(_COLUMNS)})"
# One statement looks and counts: whoever comes at the same time waits for the row, and looks at it then.
_BEGIN = (
    f"{_INSERT} ON CONFLICT (purpose, day) DO UPDATE SET calls = model_use.calls + 1"
    " WHERE model_use.calls < ? AND model_use.input_tokens + model_use.output_tokens < ?"
)
_END = f"{_INSERT} ON CONFLICT (purpose, day) DO UPDATE SET " + ", ".join(
    f"{name} = model_use.{name} + excluded.{name}" for name in _AMOUNTS
)
_SINCE = f"SELECT {', '.join(_COLUMNS)} FROM model_use WHERE day >= ? ORDER BY day DESC, purpose"


class SqlModelUse(SqlCollection):
    """How much models were used, by purpose and day: what budgets are kept by, and what `status` shows."""

    @writing
    def begin(self, purpose: str, day: str, *, calls_max: int, tokens_max: int) -> bool:
        """Count one call; False, and nothing counted, where the day's calls or tokens are spent already."""
        check_storable(purpose, day)
        if calls_max <= 0 or tokens_max <= 0:
            return False
        return self._execute(_BEGIN, (purpose, day, 1, 0, 0, 0, 0, calls_max, tokens_max)) == 1

    @writing
    def end(self, use: DayUse) -> None:
        """Add what a call took (its tokens, its cost, whether it failed) to its day; `calls` is not added."""
        check_storable(use.purpose, use.day)
        amounts = (use.failures, use.input_tokens, use.output_tokens, use.cost_micro_usd)
        self._execute(_END, (use.purpose, use.day, 0, *amounts))

    def since(self, day: str) -> tuple[DayUse, ...]:
        return tuple(
            DayUse(**dict(zip(_COLUMNS, row, strict=True))) for row in self._session.rows(_SINCE, (day,))
        )
