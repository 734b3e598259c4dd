"""The revisions of every policy; none is ever changed."""

from runlore.domain.errors import Conflict
from runlore.domain.policies.policy import PolicyName, PolicyRevision
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql.columns import UNREADABLE, check_storable, damage_error, from_json
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import Row, SqlCollection, writing

_SELECT = "SELECT name, revision, at_ms, actor, body FROM policies WHERE name = ? ORDER BY revision DESC"
_PUT = (
    "INSERT INTO policies (name, revision, at_ms, actor, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


class SqlPolicies(SqlCollection):
    """The revisions of every policy."""

    def current(self, name: PolicyName) -> PolicyRevision | None:
        """The latest revision; None when nobody has changed the defaults."""
        return self._read_first(_read, f"{_SELECT} LIMIT 1", name.value)

    def history(self, name: PolicyName) -> tuple[PolicyRevision, ...]:
        return tuple(_read(row) for row in self._session.rows(_SELECT, (name.value,)))

    @writing
    def put(self, revision: PolicyRevision) -> None:
        """Write the next revision; Conflict (`policy.moved`) when that number is taken."""
        assert revision.updated_at is not None, "only the defaults have no time"
        check_storable(revision.actor)
        at_ms = to_milliseconds(revision.updated_at)
        row = (revision.name.value, revision.revision, at_ms, revision.actor, to_json(revision.policy))
        if self._execute(_PUT, row) != 1:
            raise Conflict(
                f"policy {revision.name} has moved: revision {revision.revision} is there already",
                code="policy.moved",
                hint="read the policy again and decide anew",
            )


def _read(row: Row) -> PolicyRevision:
    name, revision, at_ms, actor, body = row
    try:
        return PolicyRevision(
            name=PolicyName(name),
            revision=revision,
            policy=from_json(body),
            updated_at=from_milliseconds(at_ms),
            actor=actor,
        )
    except UNREADABLE as error:
        raise damage_error(f"policy {name} at revision {revision}") from error
