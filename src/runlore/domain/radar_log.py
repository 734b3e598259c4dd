"""The adoption registry and the promotion log as Markdown, for a repository that wants to track them."""

from collections.abc import Sequence

from runlore.domain.record import JsonValue, Kind, Record
from runlore.domain.safe_text import escaped
from runlore.domain.timestamps import format_time


def radar_markdown(adoptions: Sequence[Record], episodes: Sequence[Record]) -> str:
    """Two tables; whatever a finding says, it stays inside its cell."""
    registry = [
        (
            record.metadata.get("repo_slug"),
            record.metadata.get("workflow"),
            record.summary,
            record.metadata.get("source_url"),
            record.confidence,
            _day(record),
        )
        for record in adoptions
    ]
    log = [
        (
            format_time(record.created_at),
            "adopted" if record.kind is Kind.PROMOTION else "undone",
            record.metadata.get("repo_slug"),
            record.metadata.get("workflow"),
            record.metadata.get("reason"),
        )
        for record in episodes
    ]
    return "\n".join(
        [
            "# Adoption registry",
            "",
            *_table(
                ("Repository", "Workflow", "What was adopted", "Source", "Confidence", "Since"), registry
            ),
            "",
            "# Promotion log",
            "",
            *_table(("When", "What", "Repository", "Workflow", "Reason"), log),
            "",
        ]
    )


def _day(record: Record) -> str:
    moment = record.published_at or record.created_at
    return format_time(moment)[:10]


def _table(header: Sequence[str], rows: Sequence[Sequence[JsonValue]]) -> list[str]:
    if not rows:
        return ["Nothing yet."]
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(_cell(value) for value in row) + " |" for row in rows),
    ]


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    text = " ".join(escaped(str(value), keep_newlines=True).split())
    return text.translate(_ESCAPES)


# What Markdown, its tables and its dialects with formulas give a meaning inside a line.
_ESCAPES = str.maketrans({special: "\\" + special for special in "\\|`<>[]*_&~$"})
