"""The parts of a projection: sections, the budget, omissions, and the receipt that keeps them."""

from runlore.daemon.answers.shapes import (
    each,
    flag,
    optional_text,
    optional_whole,
    reader,
    texts,
    time_of,
)
from runlore.domain.projection import (
    Budget,
    Omission,
    Omitted,
    Projection,
    RebuiltSection,
    Receipt,
    ReceiptEntry,
    ReceiptSection,
    Section,
    SectionBudget,
    SectionEntry,
    SectionName,
)
from runlore.domain.record import JsonValue
from runlore.domain.representation import Plain, as_object, as_text, as_whole
from runlore.domain.run import RunId
from runlore.domain.timestamps import format_time


def projection_to_plain(projection: Projection) -> Plain:
    """What an input would be given, and how that comes about."""
    return {
        "sections": [section_to_plain(section) for section in projection.sections],
        "budget": budget_to_plain(projection.budget),
        "omissions": [omission_to_plain(omission) for omission in projection.omissions],
        "semantic": projection.semantic,
        "remark": projection.remark or None,
    }


@reader
def projection_from_plain(plain: JsonValue) -> Projection:
    """Read what an input would be given."""
    fields = as_object(plain)
    return Projection(
        sections=each(read_section, fields["sections"]),
        omissions=each(_read_omission, fields["omissions"]),
        budget=_read_budget(fields["budget"]),
        semantic=flag(fields.get("semantic", False)),
        remark=optional_text(fields.get("remark")) or "",
    )


def section_to_plain(section: Section) -> Plain:
    """One rendered section with its entries."""
    return {
        "name": section.name.value,
        "text": section.text,
        "tokens": section.tokens,
        "truncated": section.truncated,
        "entries": [_entry_to_plain(entry) for entry in section.entries],
    }


def _entry_to_plain(entry: SectionEntry | ReceiptEntry) -> Plain:
    return {
        "source_id": entry.source_id,
        "revision": entry.revision,
        "score": entry.score,
        "tokens": entry.tokens,
        "text": entry.text,
    }


def read_section(plain: JsonValue) -> Section:
    """A section inside another answer."""
    fields = as_object(plain)
    return Section(
        name=SectionName(as_text(fields["name"])),
        text=as_text(fields["text"]),
        tokens=as_whole(fields["tokens"]),
        entries=each(_read_entry, fields["entries"]),
        truncated=flag(fields["truncated"]),
    )


def _read_entry(plain: JsonValue) -> SectionEntry:
    fields = as_object(plain)
    return SectionEntry(
        source_id=as_text(fields["source_id"]),
        revision=optional_whole(fields["revision"]),
        score=optional_whole(fields["score"]),
        tokens=as_whole(fields["tokens"]),
        text=as_text(fields["text"]),
    )


def budget_to_plain(budget: Budget) -> Plain:
    """The arithmetic of a prompt."""
    return {
        "model_family": budget.model_family,
        "window_tokens": budget.window_tokens,
        "reserved_tokens": budget.reserved_tokens,
        "prompt_tokens": budget.prompt_tokens,
        "input_tokens": budget.input_tokens,
        "factor_percent": budget.factor_percent,
        "room_tokens": budget.room_tokens,
        "sections": [
            {
                "section": part.section.value,
                "policy_tokens": part.policy_tokens,
                "room_tokens": part.room_tokens,
                "used_tokens": part.used_tokens,
            }
            for part in budget.sections
        ],
    }


def _read_budget(plain: JsonValue) -> Budget:
    fields = as_object(plain)
    return Budget(
        model_family=optional_text(fields["model_family"]),
        window_tokens=optional_whole(fields["window_tokens"]),
        reserved_tokens=as_whole(fields["reserved_tokens"]),
        prompt_tokens=as_whole(fields["prompt_tokens"]),
        input_tokens=as_whole(fields["input_tokens"]),
        factor_percent=as_whole(fields["factor_percent"]),
        room_tokens=optional_whole(fields["room_tokens"]),
        sections=each(_read_section_budget, fields["sections"]),
    )


def _read_section_budget(plain: JsonValue) -> SectionBudget:
    fields = as_object(plain)
    return SectionBudget(
        section=SectionName(as_text(fields["section"])),
        policy_tokens=as_whole(fields["policy_tokens"]),
        room_tokens=as_whole(fields["room_tokens"]),
        used_tokens=as_whole(fields["used_tokens"]),
    )


def omission_to_plain(omission: Omission) -> Plain:
    """One thing that was left out, and why."""
    return {
        "section": omission.section.value,
        "source_id": omission.source_id,
        "reason": omission.reason.value,
        "tokens": omission.tokens,
    }


def _read_omission(plain: JsonValue) -> Omission:
    fields = as_object(plain)
    return Omission(
        section=SectionName(as_text(fields["section"])),
        source_id=as_text(fields["source_id"]),
        reason=Omitted(as_text(fields["reason"])),
        tokens=as_whole(fields["tokens"]),
    )


def receipt_to_plain(receipt: Receipt) -> Plain:
    """What a run was given, as it is kept with it."""
    return {
        "run_id": receipt.run_id,
        "at": format_time(receipt.at),
        "renderer": receipt.renderer,
        "sections": [_receipt_section_to_plain(section) for section in receipt.sections],
        "omissions": [omission_to_plain(omission) for omission in receipt.omissions],
        "budget": budget_to_plain(receipt.budget),
    }


@reader
def receipt_from_plain(plain: JsonValue) -> Receipt:
    """Read a receipt."""
    fields = as_object(plain)
    return Receipt(
        run_id=RunId(as_text(fields["run_id"])),
        at=time_of(fields["at"]),
        renderer=as_whole(fields["renderer"]),
        sections=each(_read_receipt_section, fields["sections"]),
        omissions=each(_read_omission, fields["omissions"]),
        budget=_read_budget(fields["budget"]),
    )


def _receipt_section_to_plain(section: ReceiptSection) -> Plain:
    return {
        "name": section.name.value,
        "tokens": section.tokens,
        "truncated": section.truncated,
        "digest": section.digest,
        "entries": [_entry_to_plain(entry) for entry in section.entries],
    }


def _read_receipt_section(plain: JsonValue) -> ReceiptSection:
    fields = as_object(plain)
    return ReceiptSection(
        name=SectionName(as_text(fields["name"])),
        tokens=as_whole(fields["tokens"]),
        truncated=flag(fields["truncated"]),
        digest=as_text(fields["digest"]),
        entries=each(_read_receipt_entry, fields["entries"]),
    )


def _read_receipt_entry(plain: JsonValue) -> ReceiptEntry:
    fields = as_object(plain)
    return ReceiptEntry(
        source_id=as_text(fields["source_id"]),
        revision=optional_whole(fields["revision"]),
        score=optional_whole(fields["score"]),
        tokens=as_whole(fields["tokens"]),
        text=optional_text(fields["text"]),
    )


def rebuilt_to_plain(section: RebuiltSection) -> Plain:
    """A past section told again."""
    return {
        "name": section.name.value,
        "text": section.text,
        "exact": section.exact,
        "missing": list(section.missing),
    }


def read_rebuilt(plain: JsonValue) -> RebuiltSection:
    """A past section inside another answer."""
    fields = as_object(plain)
    return RebuiltSection(
        name=SectionName(as_text(fields["name"])),
        text=as_text(fields["text"]),
        exact=flag(fields["exact"]),
        missing=texts(fields["missing"]),
    )
