"""The audit feed: who did what, when, to which record, skill, token, policy or binding. No content."""

from datetime import datetime
from enum import StrEnum

from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass


class AuditKind(StrEnum):
    """What an event is about; its `subject` is a record's or session's id, or a name."""

    BINDING = "binding"
    POLICY = "policy"
    RECORD = "record"
    SKILL = "skill"
    TOKEN = "token"


# Where an act stands in the feed.
AuditPlace = tuple[datetime, AuditKind, str, int]


@JsonForm(derived={"id": "id"}, first=("id",))
@dataclass(frozen=True, kw_only=True)
class AuditEvent:
    """One act. Its `id` is the same whenever it is told again.

    `revision` is the one that it made: of the record, the policy and the token; of a binding the number in
    the session's journal, of a skill that in the log of skills. `actor` is empty where nobody was noted.
    """

    kind: AuditKind
    subject: str
    revision: int
    act: str
    at: datetime
    actor: str
    reason: str = ""

    @property
    def id(self) -> str:
        return f"{self.kind}:{self.subject}@{self.revision}"

    @property
    def place(self) -> AuditPlace:
        return (self.at, self.kind, self.subject, self.revision)
