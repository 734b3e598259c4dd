"""Types that fields of several requests have: what each means, and its bounds as the document tells them."""

from datetime import datetime
from typing import Annotated

from runlore.domain import limits
from runlore.domain.json_form import About
from runlore.domain.record import EvidenceRef, RecordId
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId

_CURSOR_CHARS_MAX = 4_000

OnlyScopes = Annotated[
    frozenset[Scope],
    About("Only this scope, as KIND:ID, such as project:acme, or workspace. Repeatable."),
]
AsOf = Annotated[datetime | None, About("Answer as at a past time (RFC 3339).")]
SeenBy = Annotated[
    SessionId | None, About("Answer with what this session sees. An agent always names its own.")
]
PageLimit = Annotated[
    int, About(f"How many at most, up to {limits.LIST_LIMIT_MAX}.", least=1, most=limits.LIST_LIMIT_MAX)
]
SearchLimit = Annotated[
    int, About(f"How many at most, up to {limits.SEARCH_LIMIT_MAX}.", least=1, most=limits.SEARCH_LIMIT_MAX)
]
Cursor = Annotated[
    str | None, About("Go on after the page that gave this `next_cursor`.", most=_CURSOR_CHARS_MAX)
]
Reason = Annotated[str, About("Why; it is kept in the history.", most=limits.REASON_CHARS_MAX)]
Revision = Annotated[
    int | None, About("Refuse (409) unless this is the present revision.", least=0, most=limits.NUMBER_MAX)
]
Confidence = Annotated[int, About(least=0, most=limits.CONFIDENCE_MAX)]
Content = Annotated[str, About("What shall be remembered; `summary` is taken for it too.")]
Evidence = Annotated[
    tuple[EvidenceRef, ...], About("What supports it.", least=0, most=limits.EVIDENCE_REFS_MAX)
]
Revalidation = Annotated[datetime | None, About("When it is to be looked at again.")]
BothHold = Annotated[
    tuple[Annotated[RecordId, About(most=limits.ID_CHARS_MAX)], ...],
    About(
        "Records that it seems to contradict: it stands beside them, for both hold.",
        least=0,
        most=limits.BOTH_HOLD_MAX,
    ),
]
Standing = Annotated[
    bool | None,
    About(
        "Whether it is in every prompt of its scope, whatever the input says; for a preference or a decision."
        " Left out, it is if what it replaces was."
    ),
]
Accepted = Annotated[bool, About("I have read this text from outside and accept it.")]
PromptTokens = Annotated[int | None, About("What the prompt already costs.", least=0, most=limits.NUMBER_MAX)]
SkillName = Annotated[
    str,
    About(
        "What it is called: 1 to 64 small letters, digits and single hyphens between them.",
        most=limits.SKILL_NAME_CHARS_MAX,
    ),
]
