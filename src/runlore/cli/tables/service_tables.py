"""What people see of the service itself: status, tokens, capture, jobs, backups, health."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from runlore.cli.tables.table_cells import field_rows, plural, scopes_text, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain.access import AccessToken
from runlore.domain.record import JsonValue, Layer, State
from runlore.domain.run import RunStatus
from runlore.domain.runs.job import Job, JobKind, JobState
from runlore.domain.timestamps import parse_time
from runlore.ports import operations as ops

_OUTCOME_STYLES = {"ok": "green", "notice": "yellow", "repaired": "yellow", "problem": "red"}
_JOB_STYLES = {JobState.DEAD: "red", JobState.LEASED: "green"}
_LEARNED = frozenset({Layer.PROFILE, Layer.SEMANTIC, Layer.PROCEDURAL})
# What `status` shows elsewhere, or what says more in `policy show`.
_NOT_IN_STATUS = frozenset({"policy", "policies", "daemon", "models", "agents"})


def show_status(status: ops.Status, where: str) -> None:
    say(f"Runlore {status.version} on {status.state_root}", "bold")
    say(f"  {where}")
    needs = [*_needs(status)]
    say("Needs you" if needs else "Nothing needs you.", "bold" if needs else "green")
    for what, command in needs:
        say(f"  {what}{f': `runlore {command}`' if command else ''}", "yellow")
    say(f"Holds: {', '.join(_holds(status))}")
    doing = ", ".join(_does(status))
    say(f"{doing[:1].upper()}{doing[1:]}.")
    _show_agents(status)
    say("`runlore status --verbose` shows the rest.", "dim")


def _show_agents(status: ops.Status) -> None:
    """One line for each agent that is connected."""
    agents = status.sections.get("agents")
    for told in agents if isinstance(agents, list) else []:
        if not isinstance(told, dict):
            continue
        where = f" in {told['project']}" if told.get("project") else ""
        hooks, reported = str(told["hooks"]), told.get("reported_at")
        last = "no report yet" if reported is None else f"last report {_ago(parse_time(str(reported)))}"
        is_fine = hooks == "ok"
        state = f"hooks ok, {last}" if is_fine else f"hooks do not work, {hooks}: `runlore doctor`"
        say(f"{told['agent']}{where}: {state}", "" if is_fine else "yellow")


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
    runs = {state: _number(sections, "sessions", "runs", state) for state in RunStatus}
    asking = runs[RunStatus.WAITING_FOR_APPROVAL] + runs[RunStatus.WAITING_FOR_USER]
    for number, what, command in (
        (status.waiting, "waiting for review", "memory review list"),
        (asking, "waiting for your word in a run", "approvals list"),
        (_number(sections, "suggestions", "waiting"), "suggested as skills", "skill save"),
        (_number(sections, "skills", "needs_review"), "from outside among the skills", "skill list"),
        (_number(sections, "skills", "files", "problem_count"), "wrong with files of skills", "doctor"),
        (_jobs(sections, JobState.DEAD), "failed for good in the background", "jobs list --state dead"),
        (
            len([*_iter_entries(sections.get("run_memory"))]),
            "met by the last maintenance",
            "status --verbose",
        ),
    ):
        if number:
            yield f"{number:,} {what}", command


def _holds(status: ops.Status) -> Iterator[str]:
    active = {layer: status.counts.get((layer, State.ACTIVE), 0) for layer in Layer}
    learned = sum(active[layer] for layer in _LEARNED)
    runs = sum(_number(status.sections, "sessions", "runs", state) for state in RunStatus)
    yield plural(learned, "active memory", "active memories")
    yield plural(active[Layer.EPISODIC], "episode")
    yield plural(_number(status.sections, "skills", "active"), "skill")
    yield f"{plural(runs, 'run')} in {plural(_number(status.sections, 'sessions', 'count'), 'session')}"


def _does(status: ops.Status) -> Iterator[str]:
    sections = status.sections
    yield "capture is paused" if _at(sections, "capture", "paused") else "runs are captured"
    model = _at(sections, "models", "default")
    yield f"the model is {model}" if model else "no model is set"
    running = sum(
        _number(sections, "sessions", "runs", state) for state in (RunStatus.QUEUED, RunStatus.RUNNING)
    )
    if running:
        yield f"{plural(running, 'run')} at work"
    if waiting := _jobs(sections, JobState.WAITING) + _jobs(sections, JobState.LEASED):
        yield f"{plural(waiting, 'job')} in the background"


def _jobs(sections: Mapping[str, JsonValue], state: JobState) -> int:
    return sum(_number(sections, "jobs", kind, state) for kind in JobKind)


def _at(sections: Mapping[str, JsonValue], *path: str) -> JsonValue:
    """What stands at a place of the sections; None where nothing does, as with another version's answer."""
    value: JsonValue = dict(sections)
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _number(sections: Mapping[str, JsonValue], *path: str) -> int:
    value = _at(sections, *path)
    return value if isinstance(value, int) else 0


def show_whole_status(status: ops.Status, where: str) -> None:
    say(f"Runlore {status.version} on {status.state_root}", "bold")
    say(f"  {where}")
    for name, value in status.store.items():
        if value != 0:
            say(f"  {name}: {value}")
    say("")
    show_table(
        [Column(title="LAYER"), *(Column(title=state.upper(), labelled=True) for state in State)],
        [(layer, *(str(status.counts.get((layer, state), 0)) for state in State)) for layer in Layer],
    )
    if status.counts.get((Layer.EPISODIC, State.CONSTRAINED)):
        say("What is constrained among episodes are summaries of runs: nobody has to decide on them.", "dim")
    say("")
    say(f"{status.waiting} waiting for review" + (": `runlore memory review list`" if status.waiting else ""))
    say("")
    _show_sections(status.sections)
    _show_agents(status)


def show_made_token(made: ops.MadeToken) -> None:
    token = made.token
    limited = f", limited to {scopes_text(sorted(token.scopes))}" if token.scopes is not None else ""
    say(f"Made {token.name}, {_article(token.role)} {token.role}{limited}. Its secret, shown this once:")
    say(made.secret, "bold")
    say("Its program gives it as RUNLORE_TOKEN, or in the header `Authorization: Bearer SECRET`.", "dim")


def show_tokens(tokens: Sequence[AccessToken]) -> None:
    if not tokens:
        say("There are no tokens.", "dim")
        return
    show_table(
        [
            *(Column(title=title) for title in ("NAME", "ROLE", "MADE", "REVOKED")),
            Column(title="SCOPES", wraps=True, columns_min=16),
        ],
        [
            (
                token.name,
                token.role,
                time_text(token.created_at),
                (time_text(token.revoked_at), "red") if token.revoked_at else "-",
                "all" if token.scopes is None else scopes_text(sorted(token.scopes)),
            )
            for token in tokens
        ],
    )


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
            *(Column(title=title) for title in ("ID", "KIND", "STATE", "TRIES", "DUE")),
            Column(title="SUBJECT", wraps=True),
            Column(title="ERROR", wraps=True),
        ],
        [
            (
                job.job_id,
                job.kind,
                (job.state, _JOB_STYLES.get(job.state, "")),
                str(job.attempts),
                time_text(job.due_at),
                job.subject,
                job.error,
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
            [Column(title="CHECK"), Column(title="OUTCOME"), Column(title="WHAT", wraps=True)],
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
    return f"revision {told['revision']}, {told.get('updated_at')}, by {told.get('actor')}"


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
