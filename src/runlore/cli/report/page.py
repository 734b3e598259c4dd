"""The page: procedures and what users said that lasts side by side, then each suggestion with its evidence,
what was done over time, what was read.

One file without a network: its style and its script stand in it, a policy in its head forbids everything
else, and it says all it has to say without the script, which only filters.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from importlib import resources

from runlore.cli.report.cards import KIND_WORDS, anchor, card, inline, write_command
from runlore.cli.report.markup import NOTHING, Markup, element, join_markup, raw, text
from runlore.cli.report.plots import Bar, Series, beside, make_series, over_time
from runlore.cli.tables.table_cells import agent_title, kind_text, plural
from runlore.daemon.mining.findings import AgentRead, Day, LearnFindings, ReadingSummary, UserWords
from runlore.domain.detectors.match import Heuristic
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import Record
from runlore.domain.statements.ranks import Rank, confidence_reasons, rank_of, sessions_of
from runlore.domain.suggestion import Suggestion
from runlore.domain.taint import Provenance
from runlore.domain.text.excerpt import excerpt
from runlore.domain.worth.repeats import Repeats

_TITLE = "What your sessions teach"
_UNREAD_SHOWN_MAX = 200
_STATEMENTS_SHOWN_MAX = 200
_SIDE_SHOWN_MAX = 20
_REPEATS_SHOWN_MAX = 10
_REPEAT_CHARS_MAX = 400
# So many sentences are read before any other is unfolded.
_FIRST_SHOWN = 10
# A longer table would hide the cards below it.
_GLANCE_OPEN_MAX = 12


def page(findings: LearnFindings, *, made_at: datetime, is_stored: bool) -> str:
    """The whole page as a text. `is_stored` says whether the suggestions wait in a store."""
    repeats = findings.repeats
    body = element(
        "body",
        element("a", text("Skip to what was found"), href="#suggestions", class_="skip"),
        _header(findings, made_at, is_stored=is_stored),
        element(
            "main",
            element(
                "div",
                _procedures(findings.suggestions),
                _statements(findings, is_stored=is_stored),
                class_="sides",
            ),
            _suggestions(findings, is_stored=is_stored),
            _said_again(repeats),
            _plots(findings, repeats),
            _reading(findings.reading),
        ),
        element("footer", element("p", text("Made by Runlore on this machine. Nothing was sent anywhere."))),
        raw(_file("page.js"), "script"),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(), body, lang='en')}\n"


def _head() -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", text(f"{_TITLE} - Runlore")),
        raw(_file("page.css"), "style"),
    )


def _policy() -> str:
    """Nothing from anywhere but this one style and this one script."""
    return (
        f"default-src 'none'; style-src 'sha256-{_digest('page.css')}'; "
        f"script-src 'sha256-{_digest('page.js')}'; base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(name: str) -> str:
    return base64.b64encode(hashlib.sha256(_file(name).encode()).digest()).decode()


def _header(findings: LearnFindings, made_at: datetime, *, is_stored: bool) -> Markup:
    reading, days = findings.reading, findings.days
    commands = sum(day.commands for day in days)
    figures = [
        _count(len(findings.suggestions), "suggested skill", "suggested skills", "first"),
        _count(len(findings.statements), "sentence to remember", "sentences to remember", "first"),
        _count(reading.sessions, "session", "sessions"),
        _count(reading.runs, "run", "runs"),
        _count(commands, "command", "commands"),
        _figure(_share(sum(day.failures for day in days), commands), "of them failed"),
        _figure(_share(sum(day.repeats for day in days), commands), "were done before"),
    ]
    span = f", {_days(days[0].day, days[-1].day)}" if days else ""
    agents = " and ".join(agent_title(agent.agent) for agent in reading.agents if agent.runs)
    told = f"What {agents or 'no agent'} did in {plural(reading.sessions, 'session')}{span}."
    stored = (
        "The suggestions wait in the review queue; nothing is saved as a skill until you say so."
        if is_stored
        else "This was a dry run: nothing was stored."
    )
    return element(
        "header",
        element("p", text("Runlore"), class_="brand"),
        element("h1", text(_TITLE)),
        element("p", text(f"{told} {stored}"), class_="lead"),
        element("p", text(f"Written on {_day(made_at)} at {made_at:%H:%M} UTC"), class_="written"),
        element("dl", *figures, class_="figures"),
        class_="top",
    )


def _count(number: int, one: str, many: str, kind: str = "") -> Markup:
    return _figure(f"{number:,}", one if number == 1 else many, kind)


def _figure(shown: str, name: str, kind: str = "") -> Markup:
    return element(
        "div", element("dt", text(name)), element("dd", text(shown)), class_=f"figure {kind}".strip()
    )


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _days(first: date, last: date) -> str:
    begins, ends = map(_day, (first, last))
    return f"on {begins}" if begins == ends else f"from {begins} to {ends}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _said_again(repeats: Repeats) -> Markup:
    """What a person told their agents in several sessions: what a memory would spare them."""
    if not repeats.items:
        return NOTHING
    items = [
        element(
            "li",
            text(excerpt(redact_text(each.text).text, _REPEAT_CHARS_MAX)),
            element(
                "p",
                text(f"in {plural(len(each.session_ids), 'session')}, {_days(each.first_at, each.last_at)}"),
                class_="where",
            ),
        )
        for each in repeats.items[:_REPEATS_SHOWN_MAX]
    ]
    more = len(repeats.items) - len(items)
    return element(
        "section",
        element("h2", text("What you said again"), id="repeats"),
        element("p", text("Told to an agent in more than one session, most often first."), class_="none"),
        element("ol", *items, class_="found panel"),
        element("p", text(f"And {more:,} more.")) if more else NOTHING,
    )


def _plots(findings: LearnFindings, repeats: Repeats) -> Markup:
    days = findings.days
    by_agent: dict[str, dict[date, int]] = {}
    for day in days:
        for agent, count in day.by_agent.items():
            by_agent.setdefault(agent_title(agent), {})[day.day] = count
    failures = over_time("Failures", "commands that failed", [_series("failed", "bad", days, "failures")])
    return element(
        "section",
        element("h2", text("Over time")),
        element(
            "div",
            over_time(
                "Commands", "what agents ran, by agent; looking around is not counted", make_series(by_agent)
            ),
            failures if any(day.failures for day in days) else NOTHING,
            over_time(
                "Repeats",
                "commands that had been run before, with whatever values",
                [
                    _series("done before", "c2", days, "repeats"),
                    Series(
                        name="new",
                        colour="c0",
                        counts={day.day: day.commands - day.repeats for day in days},
                    ),
                ],
            ),
            _repeats_plot(repeats, findings.learning_began_at) if repeats.items else NOTHING,
            element(
                "div",
                beside(
                    "Suggestions",
                    "by what found them",
                    [
                        Bar(name=KIND_WORDS[kind], number=count, colour="c3")
                        for kind, count in _count_kinds(findings.suggestions).items()
                    ],
                ),
                beside(
                    "Runs",
                    "by agent",
                    [
                        Bar(name=agent_title(agent.agent), number=agent.runs)
                        for agent in findings.reading.agents
                    ],
                ),
                class_="stack",
            ),
            class_="panels",
        ),
    )


def _repeats_plot(repeats: Repeats, began_at: datetime | None) -> Markup:
    again: Counter[date] = Counter()
    new: Counter[date] = Counter()
    for run_id, at in repeats.opened_at.items():
        (again if run_id in repeats.repeating else new)[at.date()] += 1
    return over_time(
        "Said again",
        "requests that told an agent what an earlier session had been told",
        [
            Series(name="said again", colour="c2", counts=again),
            Series(name="new", colour="c0", counts=new),
        ],
        mark=None if began_at is None else (began_at.date(), repeats.rate_change(began_at).sentence),
    )


def _series(name: str, colour: str, days: Sequence[Day], field: str) -> Series:
    return Series(name=name, colour=colour, counts={day.day: getattr(day, field) for day in days})


def _count_kinds(suggestions: Iterable[Suggestion]) -> Mapping[Heuristic, int]:
    counts = Counter(suggestion.heuristic for suggestion in suggestions)
    return {each: counts[each] for each in Heuristic if each in counts}


def _procedures(found: Sequence[Suggestion]) -> Markup:
    """How people work, in a few words each; what each is made of stands below."""
    title = element("h2", text("How you work"), id="suggestions")
    if not found:
        none = "Nothing was repeated, recovered, corrected or asked for often enough to be worth a skill yet."
        return element("section", title, element("p", text(none), class_="none"))
    items = [
        element(
            "li",
            element("a", text(each.name), href=f"#{anchor(each)}"),
            _outside(each.provenance),
            element("p", inline(each.description)),
            element(
                "p",
                text(f"{plural(each.times, 'time')} in {plural(each.sessions, 'session')}"),
                class_="where",
            ),
        )
        for each in found[:_SIDE_SHOWN_MAX]
    ]
    more = len(found) - len(items)
    return element(
        "section",
        title,
        element("p", text("Procedures worth a skill, the best first."), class_="none"),
        element("ol", *items, class_="found panel"),
        element("p", text(f"And {more:,} more below.")) if more else NOTHING,
    )


def _suggestions(findings: LearnFindings, *, is_stored: bool) -> Markup:
    found = findings.suggestions
    if not found:
        return NOTHING
    title = element("h2", text("Suggestions in full"))
    cards = [card(each, findings.examples.get(each.pattern), is_stored=is_stored) for each in found]
    return element("section", title, _filter(found), _glance(found), *cards)


def _filter(found: Sequence[Suggestion]) -> Markup:
    """Shown by the script alone: without it there is nothing to filter with."""
    choices = [
        element("option", text("every kind"), value=""),
        *(
            element("option", text(f"{KIND_WORDS[kind]} ({count})"), value=kind)
            for kind, count in _count_kinds(found).items()
        ),
    ]
    return element(
        "form",
        element("label", text("Find "), element("input", type="search", id="find", autocomplete="off")),
        element("label", text("Kind "), element("select", *choices, id="kind")),
        element("label", element("input", type="checkbox", id="clean"), text(" without those from outside")),
        element("output", text(plural(len(found), "suggestion")), id="shown", aria_live="polite"),
        class_="filter",
        hidden=True,
    )


def _glance(found: Sequence[Suggestion]) -> Markup:
    head = element(
        "tr",
        *(element("th", text(name), scope="col") for name in ("Skill", "Kind", "Times", "Sessions", "Score")),
    )
    rows = [
        element(
            "tr",
            element(
                "td",
                element("a", text(each.name), href=f"#{anchor(each)}"),
                element("span", text("from outside"), class_="badge taint")
                if each.provenance.tainted
                else NOTHING,
            ),
            element("td", text(KIND_WORDS[each.heuristic])),
            element("td", text(f"{each.times:,}")),
            element("td", text(f"{each.sessions:,}")),
            element("td", text(each.score.points)),
            data_for=anchor(each),
        )
        for each in found
    ]
    table = element("table", element("thead", head), element("tbody", *rows), class_="glance")
    return element(
        "details",
        element("summary", text("All at a glance")),
        element("div", table, class_="wide panel"),
        open=len(found) <= _GLANCE_OPEN_MAX,
    )


def _statements(findings: LearnFindings, *, is_stored: bool) -> Markup:
    """What users said that lasts: what stands first in the review list, and the rest folded under it."""
    found = findings.statements
    shown = partial(_statement_list, findings.heard)
    title = element("h2", text("What you said that lasts"), id="statements")
    if not found:
        return element(
            "section", title, element("p", text("No sentence would be remembered."), class_="none")
        )
    waits = "wait for review" if is_stored else "would wait for review"
    told = join_markup(
        text(f"They {waits}: "),
        write_command("runlore inbox"),
        text(" None is used before you confirm it."),
    )
    first = [each for each in found if rank_of(each) is not Rank.FOLDED]
    folded = [each for each in found if rank_of(each) is Rank.FOLDED]
    less_sure = element(
        "details",
        element("summary", text(f"Less sure: {plural(len(folded), 'sentence')}")),
        shown(folded),
    )
    return element(
        "section",
        title,
        element("p", told, class_="none"),
        shown(first[:_FIRST_SHOWN]) if first else NOTHING,
        element(
            "details",
            element("summary", text(f"{plural(len(first) - _FIRST_SHOWN, 'more sentence')} like these")),
            shown(first[_FIRST_SHOWN:]),
        )
        if len(first) > _FIRST_SHOWN
        else NOTHING,
        less_sure if folded else NOTHING,
    )


def _statement_list(heard: UserWords, found: Sequence[Record]) -> Markup:
    shown = found[:_STATEMENTS_SHOWN_MAX]
    opened_at: dict[str | None, datetime | None] = {run.run_id: run.started_at for run in heard.runs}
    more = len(found) - len(shown)
    return join_markup(
        element(
            "ol",
            *(
                _statement(record, heard.project_names, opened_at.get(record.source.run_id))
                for record in shown
            ),
            class_="found panel",
        ),
        element("p", text(f"And {more:,} more.")) if more else NOTHING,
    )


def _statement(record: Record, names: Mapping[str, str], said_at: datetime | None) -> Markup:
    """A sentence, and under it what it is taken for, why, and when it was said."""
    reasons = confidence_reasons(record, with_points=False)
    sessions = plural(sessions_of(record), "session")
    said = _days(said_at, said_at) if said_at and sessions_of(record) == 1 else f"in {sessions}"
    return element(
        "li",
        element("q", inline(record.summary)),
        _outside(record.provenance),
        element("p", text(kind_text(record.kind, record.scope, names)), class_="where"),
        element("ul", *(element("li", text(why)) for why in reasons), class_="reasons"),
        element("p", text(f"Said {said}"), class_="where"),
    )


def _outside(provenance: Provenance) -> Markup:
    """Whether it came from outside, or a model put it into words: then a person reads it first."""
    if not provenance.tainted:
        return NOTHING
    told = "from outside" if provenance.untrusted else "to be read first"
    return element("span", text(told), class_="badge taint")


def _reading(reading: ReadingSummary) -> Markup:
    names = ("Agent", "Files", "Sessions", "Runs", "Lines", "Understood", "Not understood")
    head = element("tr", *(element("th", text(name), scope="col") for name in names))
    table = element(
        "table",
        element("thead", head),
        element("tbody", *(_agent_row(agent) for agent in reading.agents)),
        class_="reading",
    )
    return element(
        "section",
        element("h2", text("What was read")),
        element("div", table, class_="wide panel") if reading.agents else NOTHING,
        _unread_section(reading),
    )


def _agent_row(agent: AgentRead) -> Markup:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(agent.skipped.items()))
    numbers = (agent.files, agent.sessions, agent.runs, agent.lines)
    return element(
        "tr",
        element("th", text(agent_title(agent.agent)), scope="row"),
        *(element("td", text(f"{number:,}")) for number in numbers),
        element("td", text(agent.understood_text)),
        element("td", text(reasons or "-")),
    )


def _unread_section(reading: ReadingSummary) -> Markup:
    if not reading.unread:
        return NOTHING
    shown = reading.unread[:_UNREAD_SHOWN_MAX]
    rows = [
        element(
            "li",
            element("code", text(each.path)),
            text(f": {each.problem}"),
            text(f" (it looks like {each.looks_like})") if each.looks_like else NOTHING,
        )
        for each in shown
    ]
    more = len(reading.unread) - len(shown)
    return join_markup(
        element("h3", text("Found and not read")),
        element("ul", *rows, class_="unread"),
        element("p", text(f"And {more:,} more.")) if more else NOTHING,
    )
