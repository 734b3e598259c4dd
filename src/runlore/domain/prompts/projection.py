"""What a prompt is given: sections of remembered text, the budget they were packed into, and the receipt.

A receipt names everything that was given and everything that was left out and why, so that a past section can
be told again. It holds no record's text: that is read again at the revision it names.
"""

from datetime import datetime
from enum import StrEnum

from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, RecordId
from runlore.domain.run import RunId
from runlore.domain.scope import Scope


class SectionName(StrEnum):
    """What a receipt speaks of. Skills have no section of their own: those that a run went without are among
    its omissions."""

    LEARNED_CONTEXT = "learned_context"
    RECOVERED_MEMORY = "recovered_memory"
    SKILLS = "skills"


# The sections of a prompt, in the order in which they are packed.
SECTIONS = (SectionName.LEARNED_CONTEXT, SectionName.RECOVERED_MEMORY)


class Omitted(StrEnum):
    """Why something that was eligible is not in a section."""

    OVER_ENTRIES = "over_entries"
    OVER_BUDGET = "over_budget"
    OVER_STANDING = "over_standing"
    UNREADABLE = "unreadable"
    HELD_BACK = "held_back"


@JsonForm(omit_default=("meaning", "standing", "doubt"))
@dataclass(frozen=True, kw_only=True)
class LearnedEntry:
    """A learning that an input may be given, with its score against the input (None without one).

    `meaning` is the part of the score that vectors have added; what is `standing` every input is given.
    `doubt` is what has changed of what it says, until a person has looked.
    """

    record_id: RecordId
    revision: int
    kind: Kind
    scope: Scope
    content: str
    score: int | None = None
    meaning: int = 0
    standing: bool = False
    doubt: str = ""


@JsonForm(omit_default=("standing",))
@dataclass(frozen=True, kw_only=True)
class SectionEntry:
    """One entry of a section: what it came from, its score, what it costs, and its rendered text."""

    source_id: str
    revision: int | None = None
    score: int | None = None
    tokens: int
    text: str
    standing: bool = False


@dataclass(frozen=True, kw_only=True)
class Omission:
    """One thing that was left out of a section, and why."""

    section: SectionName
    source_id: str
    reason: Omitted
    tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Section:
    """One rendered section, exactly as it goes into the prompt."""

    name: SectionName
    text: str
    tokens: int
    truncated: bool = False
    entries: tuple[SectionEntry, ...]


@JsonForm(omit_default=("standing_tokens",))
@dataclass(frozen=True, kw_only=True)
class SectionBudget:
    """The arithmetic of one section: what its policy allows, what was left, what it took, and what of that
    standing rules took, which is at most a third of what was left."""

    section: SectionName
    policy_tokens: int
    room_tokens: int
    used_tokens: int
    standing_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The arithmetic of a prompt. `window_tokens` is None where the model family is not known.

    room = window - reserve for the answer - prompt - input; without a window, the policies' budgets alone.
    """

    model_family: str | None
    window_tokens: int | None
    reserved_tokens: int
    prompt_tokens: int
    input_tokens: int
    factor_percent: int
    room_tokens: int | None
    sections: tuple[SectionBudget, ...] = ()


@JsonForm(document="Preview", may_lack=("semantic",), null_if_empty=("remark",))
@dataclass(frozen=True, kw_only=True)
class Projection:
    """What an input is given, and how that came about.

    `semantic` tells whether vectors took part in choosing learnings; `remark` why they did not.
    """

    sections: tuple[Section, ...]
    budget: Budget
    omissions: tuple[Omission, ...]
    semantic: bool = False
    remark: str = ""


@JsonForm(omit_default=("standing",))
@dataclass(frozen=True, kw_only=True)
class ReceiptEntry:
    """One entry as the receipt keeps it. A recovered run's text is kept, for its memory may be pruned."""

    source_id: str
    revision: int | None
    score: int | None
    tokens: int
    text: str | None = None
    standing: bool = False


@dataclass(frozen=True, kw_only=True)
class ReceiptSection:
    """One section as the receipt keeps it, with the digest of its exact text."""

    name: SectionName
    tokens: int
    truncated: bool
    digest: str
    entries: tuple[ReceiptEntry, ...]


@JsonForm(
    document="ReceiptDetails",
    omit_default=("holdback_percent", "never_held_back", "skills"),
    may_lack=("holdback_percent", "never_held_back", "skills"),
)
@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What a run was given, and which part of what it would have been given was held back on purpose.
    `never_held_back` are the ids of what it was given whatever the lot, because the policy names them.
    `skills` are the ids of those that it was offered; Runlore's own agent alone is offered any."""

    run_id: RunId
    at: datetime
    renderer: int
    sections: tuple[ReceiptSection, ...]
    omissions: tuple[Omission, ...]
    budget: Budget
    holdback_percent: int = 0
    never_held_back: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()

    @property
    def held_back(self) -> frozenset[str]:
        return frozenset(each.source_id for each in self.omissions if each.reason is Omitted.HELD_BACK)


@dataclass(frozen=True, kw_only=True)
class RebuiltSection:
    """A past section told again. `exact`: the bytes of then; `missing`: what was forgotten since, or is not
    for who asks."""

    name: SectionName
    text: str
    exact: bool
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModelFamily:
    """A known family of models: its names begin with one of the prefixes."""

    name: str
    prefixes: tuple[str, ...]
    window_tokens: int
    output_tokens: int
