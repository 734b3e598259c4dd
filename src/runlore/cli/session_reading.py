"""`runlore learn --enhance`: a model reads what was said, batch by batch, and people see what that costs
before and what it took after. With `--show-requests` its requests are written to files, and nobody is asked.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from runlore.atomic_write import atomic_write
from runlore.cli.tables.table_cells import plural
from runlore.cli.terminal import progress_bar, say
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.record import JsonValue
from runlore.ports import operations as ops

_FOLDER_MODE = 0o700


@dataclass(kw_only=True)
class SessionsRead:
    """What was planned, and what came of it. `folder` is where requests were written instead of asked."""

    plan: ops.ReadingPlan
    folder: str = ""
    requests: int = 0
    statements: int = 0
    procedures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int | None = None
    thrown: Counter[str] = field(default_factory=Counter)
    problem: str = ""
    hint: str = ""

    def add(self, step: ops.ReadingStep) -> None:
        self.requests += 1
        self.statements += step.statements
        self.procedures += step.procedures
        self.input_tokens += step.input_tokens
        self.output_tokens += step.output_tokens
        if step.cost_micro_usd is not None:
            self.cost_micro_usd = (self.cost_micro_usd or 0) + step.cost_micro_usd
        self.thrown.update(step.thrown)

    def to_plain(self) -> dict[str, JsonValue]:
        return {
            "model": self.plan.model or None,
            "planned_requests": self.plan.requests,
            "planned_input_tokens": self.plan.input_tokens,
            "planned_cost_micro_usd": self.plan.cost_micro_usd,
            "requests": self.requests,
            "statements": self.statements,
            "procedures": self.procedures,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_micro_usd": self.cost_micro_usd,
            "thrown": dict(self.thrown),
            "problem": self.problem or None,
            "folder": self.folder or None,
        }

    def show(self) -> None:
        if self.folder:
            say(f"Wrote {plural(self.requests, 'request')} to {self.folder}; no model was asked.")
            return
        if self.requests:
            tokens = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
            found = f"{plural(self.statements, 'statement')} and {plural(self.procedures, 'procedure')}"
            asked = plural(self.requests, "request")
            say(f"{self.plan.model} read it in {asked} ({tokens}{_cost(self.cost_micro_usd)}): {found}.")
        if self.thrown:
            reasons = ", ".join(f"{count:,} for {why}" for why, count in self.thrown.most_common())
            say(f"Thrown out of its answers: {reasons}.", "dim")
        if self.problem:
            left = self.plan.requests - self.requests
            say(f"{plural(left, 'request')} left: {self.problem}", "yellow")
            if self.hint:
                say(f"  {self.hint}", "dim")
        elif not self.requests:
            say("There was nothing that no model has read.", "dim")


def read_sessions(operations: ops.Operations, *, is_quiet: bool) -> SessionsRead:
    """Have everything read that no model has read; what was read stays read, wherever it stops."""
    plan = operations.plan_reading(ops.ReadingPlanRequest())
    read = SessionsRead(plan=plan, problem=plan.problem)
    if plan.problem or not plan.requests:
        return read
    if not is_quiet:
        say(
            f"{plan.model} is asked about {plural(plan.messages, 'message')} of"
            f" {plural(plan.sessions, 'session')}: {plural(plan.requests, 'request')}, about"
            f" {plan.input_tokens:,} tokens{_cost(plan.cost_micro_usd)}. Today's budget leaves"
            f" {plural(plan.calls_left, 'call')} and {plan.tokens_left:,} tokens."
        )
    with progress_bar("Reading with a model", hidden=is_quiet) as progress:
        for done in range(plan.requests):
            progress(done, plan.requests)
            try:
                step = operations.read_sessions()
            except RunloreError as error:
                # What was asked so far is kept; the same command goes on behind it.
                read.problem, read.hint = error.sentence, error.hint
                break
            if not step.messages:
                break
            read.add(step)
    return read


def write_requests(operations: ops.Operations, folder: str) -> SessionsRead:
    """Write the requests that would go out, one file each, and ask nobody."""
    place = Path(folder)
    try:
        place.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        return _write_pages(operations, place)
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"no requests can be written to {folder!r:.300}: {getattr(error, 'strerror', None) or error}",
            code="reading.write",
            hint="name a folder that you may write to and that has room, such as --show-requests requests",
        ) from error


def _write_pages(operations: ops.Operations, place: Path) -> SessionsRead:
    cursor: str | None = None
    number = 0
    while True:
        plan = operations.plan_reading(ops.ReadingPlanRequest(texts=True, cursor=cursor))
        for body in plan.texts:
            number += 1
            path = place / f"request-{number:03}.json"
            text = orjson.dumps(body, default=dict, option=orjson.OPT_INDENT_2) + b"\n"
            atomic_write(str(path), text)
        cursor = plan.next_cursor
        if cursor is None:
            return SessionsRead(plan=plan, folder=os.path.abspath(place), requests=number)


def _cost(micro_usd: int | None) -> str:
    return "" if micro_usd is None else f", about ${micro_usd / 1_000_000:.2f}"
