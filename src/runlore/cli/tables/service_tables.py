"""What people see of the service itself: status, tokens, capture, jobs, backups, health."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from runlore.cli.tables.table_cells import (
    STATE_WORDS,
    agent_title,
    field_rows,
    plural,
    scopes_text,
    short_path,
    time_text,
)
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain import limits
from runlore.domain.access import AccessToken
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue, Layer, State
from runlore.domain.run import RunStatus
from runlore.domain.runs.job import Job, JobKind, JobState
from runlore.domain.serialization.codec import deserialize
from runlore.domain.timestamps import parse_time
from runlore.domain.worth.repeat_rates import RateChange
from runlore.ports import operations as ops

_OUTCOME_STYLES = {"ok": "green", "notice": "yellow", "repaired": "yellow", "problem": "red"}
_JOB_STYLES = {JobState.DEAD: "red", JobState.LEASED: "green"}
_LEARNED = frozenset({Layer.PROFILE, Layer.SEMANTIC, Layer.PROCEDURAL})
# What `status` shows elsewhere, or what says more in `policy show`.
_NEEDS_SHOWN_MAX = 3
_NOT_IN_STATUS = frozenset({"policy", "policies", "daemon", "models", "agents", "repeats"})
_MONTHS_SHOWN = 2


def show_status(status: ops.Status, where: str, learned: "LearnedThisWeek") -> None:
    """Ten lines for a person: what waits or is wrong, what was learned, what there is, who is connected."""
    say(f"Runlore {status.version} on {short_path(status.state_root)}, {where}", "bold")
    needs = [*_needs(status)]
    say("Needs you" if needs else "Nothing needs you.", "bold" if needs else "green")
    shown = needs if len(needs) <= _NEEDS_SHOWN_MAX else needs[: _NEEDS_SHOWN_MAX - 1]
    _show_needs(shown)
    if len(needs) > len(shown):
        say(f"  and {len(needs) - len(shown):,} more: `runlore status --all`", "yellow")
    say(f"This week: {learned}")
    say(f"In use: {_use_text(status)}. Stored: {_stored_text(status)}.")
    _show_agents(status)
    _show_repeats(status)
    say("`runlore status --all` shows the rest.", "dim")


def _show_needs(needs: Sequence[tuple[str, str]]) -> None:
    for what, command in needs:
        say(f"  {what}{f': `runlore {command}`' if command else ''}", "yellow")


@dataclass(frozen=True, kw_only=True)
class LearnedThisWeek:
    """How many memories were published and skills made in the last seven days, as far as was looked."""

    memories: int
    skills: int
    is_more: bool = False

    def __str__(self) -> str:
        if not self.memories and not self.skills:
            return "nothing learned"
        least = "at least " if self.is_more else ""
        parts = (plural(self.memories, "memory", "memories"), plural(self.skills, "skill"))
        return f"{least}{' and '.join(part for part in parts if part[0] != '0')} learned"


def count_learned(operations: "ops.Operations", status: ops.Status, now: datetime) -> LearnedThisWeek:
    """What was learned in the last seven days, among the newest; a status needs no exact number. What
    there is none of is not asked for."""
    since = now - timedelta(days=7)
    memories = skills = 0
    is_more = False
    if any(status.counts.get((layer, State.ACTIVE)) for layer in _LEARNED):
        newest = ops.ListRequest(filters=ops.Filters(layers=_LEARNED), limit=limits.LIST_LIMIT_MAX)
        records = operations.list_records(newest)
        memories = sum(each.published_at is not None and each.published_at >= since for each in records.items)
        is_more = records.next_cursor is not None
    if number_at(status.sections, "skills", "active"):
        listed = operations.list_skills(ops.SkillsRequest(limit=limits.LIST_LIMIT_MAX))
        skills = sum(each.created_at >= since for each in listed.items)
        is_more = is_more or listed.next_cursor is not None
    return LearnedThisWeek(memories=memories, skills=skills, is_more=is_more)


def _show_agents(status: ops.Status) -> None:
    """The agents that are connected and work, in one line."""
    working = [
        agent_text(told["agent"], told.get("project"), "", told.get("reported_at"))
        for told in _agents(status)
        if told["hooks"] == "ok"
    ]
    say(f"Connected: {'; '.join(working)}" if working else "No agent is connected: `runlore connect AGENT`.")


def _show_repeats(status: ops.Status) -> None:
    """In which of the last two months people had to say something again, and how often."""
    counted = status.sections.get("repeats")
    rates = counted.get("rates") if isinstance(counted, dict) else None
    months = [each for each in (rates if isinstance(rates, list) else ()) if isinstance(each, dict)]
    told = [
        f"in {each['repeated']} of {plural(whole_number(each['requests']), 'request')}"
        f" in {datetime.strptime(str(each['month']), '%Y-%m'):%B %Y}"
        for each in reversed(months[-_MONTHS_SHOWN:])
        if each["repeated"]
    ]
    if told:
        say(f"You said again what you had said before {', '.join(told)}: `runlore repeats`.")
        if isinstance(counted, dict) and counted["change"] is not None:
            say(deserialize(RateChange, counted["change"]).sentence)


def _agents(status: ops.Status) -> list[dict[str, JsonValue]]:
    agents = status.sections.get("agents")
    return [told for told in agents if isinstance(told, dict)] if isinstance(agents, list) else []


def agent_text(agent: JsonValue, project: JsonValue, trouble: str, reported_at: JsonValue | datetime) -> str:
    """An agent that is connected, and when it last reported, or why it does not."""
    title, where = agent_title(str(agent)), f" in {project}" if project else ""
    if trouble:
        return f"{title}{where}: hooks do not work, {trouble}"
    at = parse_time(reported_at) if isinstance(reported_at, str) else reported_at
    last = f"last report {_ago(at)}" if isinstance(at, datetime) else "no report yet"
    return f"{title}{where}, {last}"


def _ago(at: datetime) -> str:
    minutes = max(0, int((datetime.now(UTC) - at).total_seconds() // 60))
    for size, name in ((24 * 60, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            return f"{plural(minutes // size, name)} ago"
    return "just now"


def _needs(status: ops.Status) -> Iterator[tuple[str, str]]:
    """What waits for a person, or is wrong, and the command that tells more or does it."""
    sections, store = status.sections, status.store
    if "damage" in store:
        yield str(store["damage"]), "doctor"
    if store.get("writes") not in (None, "ready"):
        yield f"writes: {store['writes']}", ""
    if doubt := _at(sections, "clock", "doubt"):
        yield str(doubt), ""
    for told in _agents(status):
        if (hooks := str(told["hooks"])) != "ok":
            yield agent_text(told["agent"], told.get("project"), hooks, None), "doctor"
        if isinstance(lost_at := told.get("lost_at"), str):
            yield (
                f"a report of {agent_title(str(told['agent']))} was left out {_ago(parse_time(lost_at))}",
                "doctor",
            )
    if _at(sections, "capture", "paused"):
        yield "capture is paused, nothing of any run is stored", "capture resume"
    for number, what, command in (
        (status.waiting, "waiting for you", "inbox"),
        (number_at(sections, "skills", "needs_review"), "from outside among the skills", "skill list"),
        (number_at(sections, "skills", "files", "problem_count"), "wrong with files of skills", "doctor"),
        (
            len([*_iter_entries(sections.get("run_memory"))]),
            "met by the last maintenance",
            "status --all",
        ),
    ):
        if number:
            yield f"{number:,} {what}", command


def _use_text(status: ops.Status) -> str:
    memories = sum(status.counts.get((layer, State.ACTIVE), 0) for layer in _LEARNED)
    skills = plural(number_at(status.sections, "skills", "active"), "skill")
    return f"{plural(memories, 'memory', 'memories')}, {skills}"


def _stored_text(status: ops.Status) -> str:
    runs = plural(sum(number_at(status.sections, "sessions", "runs", state) for state in RunStatus), "run")
    sessions = plural(number_at(status.sections, "sessions", "count"), "session")
    episodes = status.counts.get((Layer.EPISODIC, State.ACTIVE), 0)
    return f"{runs} in {sessions}" + (f", {plural(episodes, 'episode')}" if episodes else "")


def _jobs(sections: Mapping[str, JsonValue], state: JobState) -> int:
    return sum(number_at(sections, "jobs", kind, state) for kind in JobKind)


def _at(sections: Mapping[str, JsonValue], *path: str) -> JsonValue:
    """What stands at a place of the sections; None where nothing does, as with another version's answer."""
    value: JsonValue = dict(sections)
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def number_at(sections: Mapping[str, JsonValue], *path: str) -> int:
    return whole_number(_at(sections, *path))


def whole_number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def show_whole_status(status: ops.Status, where: str) -> None:
    say(f"Runlore {status.version} on {status.state_root}", "bold")
    say(f"  {where}")
    for name, value in status.store.items():
        if value != 0:
            say(f"  {name}: {value}")
    say("")
    show_table(
        ["LAYER", *(Column(title=word.upper(), labelled=True) for word, _ in STATE_WORDS.values())],
        [(layer, *(str(status.counts.get((layer, state), 0)) for state in STATE_WORDS)) for layer in Layer],
    )
    if status.counts.get((Layer.EPISODIC, State.CONSTRAINED)):
        say("What waits among episodes are summaries of runs: nobody has to decide on them.", "dim")
    say("")
    needs = [*_needs(status)]
    say("Needs you" if needs else "Nothing needs you.", "bold" if needs else "green")
    _show_needs(needs)
    say("")
    _show_sections(status.sections)
    _show_agents(status)
    _show_repeats(status)


def show_made_token(made: ops.MadeToken) -> None:
    token = made.token
    limited = f", limited to {scopes_text(sorted(token.scopes))}" if token.scopes is not None else ""
    until = f", until {time_text(token.expires_at)}" if token.expires_at else ""
    what = f"{token.name}, {_article(token.role)} {token.role}{limited}{until}"
    say(f"Made {what}. Its secret, shown this once:")
    say(made.secret, "bold")
    say("Its program gives it as RUNLORE_TOKEN, or in the header `Authorization: Bearer SECRET`.", "dim")


def show_tokens(tokens: Sequence[AccessToken]) -> None:
    if not tokens:
        say("There are no tokens.", "dim")
        return
    show_table(
        ["NAME", "ROLE", "PERSONA", "MADE", "ENDS", Column(title="SCOPES", wraps=True, columns_min=16)],
        [
            (
                token.name,
                token.role,
                token.persona_id or "-",
                time_text(token.created_at),
                _end_of(token),
                "all" if token.scopes is None else scopes_text(sorted(token.scopes)),
            )
            for token in tokens
        ],
    )


def _end_of(token: AccessToken) -> Cell:
    if token.revoked_at:
        return (f"revoked {time_text(token.revoked_at)}", "red")
    return time_text(token.expires_at) if token.expires_at else "-"


def show_capture(status: ops.CaptureStatus) -> None:
    since = f" since {time_text(status.since)}" if status.since else ""
    by = f", by {status.by}" if status.by else ""
    if status.paused:
        say(f"Capture is paused{since}{by}: nothing of any run is stored.", "yellow")
    else:
        say(f"Capture is on{since}{by}.")


def show_jobs(jobs: Sequence[Job]) -> None:
    if not jobs:
        say("There is no background work.", "dim")
        return
    show_table(
        [
            *("ID", "KIND", "STATE", "TRIES", "DUE"),
            Column(title="SUBJECT", wraps=True),
            Column(title="ERROR", wraps=True),
        ],
        [
            (
                *(job.job_id, job.kind, (job.state, _JOB_STYLES.get(job.state, "")), str(job.attempts)),
                *(time_text(job.due_at), job.subject, job.error),
            )
            for job in jobs
        ],
    )


def show_backup(deed: str, where: str, answer: ops.BackupAnswer) -> None:
    rows = plural(sum(answer.counts.values()), "row")
    say(f"{deed} {rows} ({plural(answer.bytes, 'byte')}) {where} {answer.path}")


def show_diagnosis(diagnosis: ops.Diagnosis, *, all_checks: bool = False) -> None:
    """What the checks found, and what to do; those that are fine are counted where nobody asks for all."""
    fine = [finding for finding in diagnosis.findings if finding.outcome == "ok" and not all_checks]
    shown = [finding for finding in diagnosis.findings if finding not in fine]
    if shown:
        show_table(
            ["CHECK", "OUTCOME", Column(title="WHAT", wraps=True)],
            [(f.check, (f.outcome, _OUTCOME_STYLES.get(f.outcome, "")), _advice(f)) for f in shown],
        )
    if fine:
        say(f"{plural(len(fine), 'check')} found nothing wrong; --verbose lists them.", "dim")
    if diagnosis.healthy:
        say("Everything is whole.", "green")
    else:
        helps = any(f.outcome == "problem" and "doctor --repair" in f.hint for f in diagnosis.findings)
        mends = ": `runlore doctor --repair` mends what is derived" if helps else ""
        say(f"Something is wrong{mends}.", "red")


def _advice(finding: ops.Finding) -> str:
    return f"{finding.detail}; {finding.hint}" if finding.hint else finding.detail


def _show_sections(sections: Mapping[str, JsonValue]) -> None:
    """One row for each section, with what is not nothing; below it, what was met on the way."""
    named = [(name, section) for name, section in sections.items() if name not in _NOT_IN_STATUS]
    rows: list[tuple[Cell, ...]] = [
        ((name.replace("_", " "), "bold"), ", ".join(_particulars(section)) or "nothing yet")
        for name, section in named
    ]
    policies = sections.get("policies")
    if isinstance(policies, dict):
        told = (f"{name}: {_revision_text(revision)}" for name, revision in policies.items())
        rows.append((("policies", "bold"), "; ".join(told)))
    models = sections.get("models")
    if isinstance(models, dict):
        rows.append((("models", "bold"), "; ".join(_models_text(models))))
    show_table([Column(), Column(wraps=True)], rows)
    for name, section in named:
        for entry in _iter_entries(section):
            say(
                f"  {name.replace('_', ' ')}: {', '.join(text for _, text in field_rows('', entry))}",
                "yellow",
            )


def _particulars(section: JsonValue) -> Iterator[str]:
    shown = section
    if isinstance(section, dict):
        shown = {name: value for name, value in section.items() if name not in _NOT_IN_STATUS}
    for name, text in field_rows("", shown):
        words = [word for word in name.split(".") if word and word != "metrics"]
        label = " ".join(words).removesuffix("_total").replace("_", " ")
        if text != "0" and "diagnostics" not in words:
            yield f"{label} {text}".strip()


def _iter_entries(section: JsonValue) -> Iterator[JsonValue]:
    for value in section.values() if isinstance(section, dict) else ():
        if isinstance(value, list):
            yield from (entry for entry in value if isinstance(entry, dict))
        else:
            yield from _iter_entries(value)


def _revision_text(told: JsonValue) -> str:
    if not isinstance(told, dict) or not told.get("revision"):
        return "the defaults"
    at = parse_time(str(told["updated_at"]))
    return f"revision {told['revision']}, {time_text(at)}, by {told.get('actor')}"


def _models_text(models: Mapping[str, JsonValue]) -> Iterator[str]:
    yield str(models.get("default") or "none is set")
    today, budget = models.get("today"), models.get("budget")
    if not isinstance(today, dict) or not isinstance(budget, dict):
        return
    for purpose, use in today.items():
        if isinstance(use, dict) and use.get("calls"):
            told = {name: amount if isinstance(amount, int) else 0 for name, amount in use.items()}
            failed = f" ({told['failures']} failed)" if told["failures"] else ""
            tokens = told["input_tokens"] + told["output_tokens"]
            yield (
                f"{purpose} {told['calls']} of {budget['calls_per_day']} calls today{failed},"
                f" {tokens} of {budget['tokens_per_day']} tokens,"
                f" {told['cost_micro_usd'] / 1_000_000:.4f} USD"
            )


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
