"""`runlore value` and `runlore repeats`: what given memory is worth, and what people had to say again."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import asks
from runlore.cli.tables.table_cells import plural
from runlore.cli.terminal import Column, say, show_table
from runlore.cli.typer_commands import option
from runlore.domain import limits
from runlore.domain.session import PersonaId
from runlore.domain.worth.effect import Worth
from runlore.ports import operations as ops

_STYLES = {Worth.HARMS: "red", Worth.HELPS: "green"}


def _show_repeats(answer: ops.RepeatsAnswer) -> None:
    if not answer.items:
        say("Nothing was said in more than one session, as far as sessions are stored.", "dim")
        return
    show_table(
        [
            Column(title="SESSIONS", right=True),
            *("SINCE", "LAST", "KEPT"),
            Column(title="SAID", wraps=True, columns_min=24),
        ],
        [
            (
                str(item.sessions),
                f"{item.first_at:%Y-%m-%d}",
                f"{item.last_at:%Y-%m-%d}",
                item.kept,
                item.text,
            )
            for item in answer.items
        ],
    )
    if answer.truncated:
        say("There are more: raise --limit.", "dim")
    latest = answer.rates[-12:]
    show_table(
        ["MONTH", Column(title="REQUESTS", right=True), Column(title="SAID AGAIN", right=True), ""],
        [
            (
                each.month,
                f"{each.requests:,}",
                f"{100 * each.repeated / each.requests:.0f} of 100",
                ("#" * round(20 * each.repeated / each.requests), "yellow"),
            )
            for each in latest
        ],
    )
    if answer.change is not None:
        say(answer.change.sentence)


def _show(answer: ops.ValueAnswer) -> None:
    if not answer.items:
        say("No run was given anything yet.", "dim")
    else:
        show_table(
            [
                *("ID", "WORD"),
                *(Column(title=title, right=True) for title in ("GIVEN", "USED", "WITHOUT", "POINTS")),
                Column(title="LEARNING OR SKILL", wraps=True),
            ],
            [
                (
                    item.record_id,
                    (item.word, _STYLES.get(item.word, "dim")),
                    f"{item.given:,}",
                    f"{item.used:,}",
                    f"{item.held_back:,}",
                    _points(item),
                    item.title,
                )
                for item in answer.items
            ],
        )
        say(
            "POINTS: by how much runs with it went better, of 100, and where that lies.",
            "dim",
        )
    if answer.truncated:
        say("There are more: raise --limit.", "dim")
    if answer.holdback_percent:
        share = answer.holdback_percent
        say(f"Each is held back from {plural(share, 'run', 'runs')} of 100.", "dim")
    else:
        say(
            "Nothing is held back, so nothing can be compared. This holds each back from a tenth of runs:",
            "yellow",
        )
        say("  runlore policy set learning --set projection.holdback_percent=10", "yellow")


def _points(item: ops.ValueItem) -> str:
    if item.word is Worth.TOO_FEW:
        return "-"
    return f"{item.difference:+} ({item.low:+} to {item.high:+})"


@asks(_show)
def value(limit: options.SearchLimitOption = limits.SEARCH_LIMIT_DEFAULT) -> None:
    """Show what each learning and skill is worth: how runs went with it, and without it."""


@asks(_show_repeats)
def repeats(
    persona_id: Annotated[
        PersonaId | None, option("--persona ID", "Whose sessions; those without a persona if left out.")
    ] = None,
    limit: options.SearchLimitOption = limits.SEARCH_LIMIT_DEFAULT,
) -> None:
    """Show what you told your agents more than once."""
