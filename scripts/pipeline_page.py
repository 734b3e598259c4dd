"""The page on the pipeline, printed from the tables that decide: moves, jobs, the envelope, reasons."""

from collections.abc import Iterator

from runlore.domain.policies.learning_policy import Action, Mode
from runlore.domain.policies.verdict import clamp
from runlore.domain.record import PROMPT_KINDS, TRANSITIONS, Kind, Layer, State
from runlore.domain.records.visibility import Hidden
from runlore.domain.runs.job import JOB

_REVIEWED = frozenset({Layer.PROFILE, Layer.SEMANTIC, Layer.PROCEDURAL})
_STAGES = """\
```mermaid
flowchart LR
    capture --> record --> review --> publish --> project
    publish --> skills
```

When a run ends, what it taught is captured as candidates: records that wait. Automation reviews a candidate
by the [learning policy](policy.md), a judge model may be stricter than the rules, and Runlore publishes into
the active tier only if it finds support in the run. An operator decides on everything else. Each step is an
event of the record: `runlore memory history ID` prints them.
"""


def pipeline_page() -> str:
    """How a candidate goes from a run to a prompt, or does not."""
    lines = [
        "# The pipeline",
        "",
        "<!-- Written by `make docs`; change the code, not this page. -->",
        "",
        _STAGES,
    ]
    lines += ["## A record", "", *_record_diagram(), ""]
    lines += [
        "Every other move is a conflict. [Records](reference/records.md) has the layers and guards.",
        "",
    ]
    lines += ["## Background work", "", *_job_diagram(), ""]
    lines += ["A finished job is deleted; one that has failed for good waits for `runlore jobs retry`.", ""]
    lines += ["## What automation does", "", *_modes(), "", *_envelope(), "", *_hidden()]
    return "\n".join([*lines, ""])


def _record_diagram() -> Iterator[str]:
    yield from ("```mermaid", "stateDiagram-v2")
    for row in TRANSITIONS:
        if row.layers & _REVIEWED:
            reason = f" ({row.reason})" if row.reason else ""
            yield f"    {row.start or '[*]'} --> {row.end}: {row.move}{reason}"
    yield "```"


def _job_diagram() -> Iterator[str]:
    yield from ("```mermaid", "stateDiagram-v2")
    for (state, move), end in JOB.table.items():
        yield f"    {state} --> {end}: {move}"
    yield "```"


def _modes() -> Iterator[str]:
    yield from (
        "| outcome of the review | " + " | ".join(f"`{mode}`" for mode in Mode) + " |",
        "|---|---|---|---|",
    )
    for action in Action:
        yield f"| `{action}` | not reviewed | noted, `{State.CONSTRAINED}` | {_DONE[action]} |"


def _envelope() -> Iterator[str]:
    yield "The judge is asked after the rules, and its answer is limited to what they allow. If they say"
    yield f"`{Action.MANUAL_REVIEW}` it is not asked. Rows: what the rules say; columns: what the judge says."
    yield from ("", "| | " + " | ".join(f"`{said}`" for said in Action) + " |", "|---|---|---|---|---|")
    for baseline in Action:
        cells = (f"`{clamp(baseline, said)}`" for said in Action)
        yield f"| `{baseline}` | {' | '.join(cells)} |"


def _hidden() -> Iterator[str]:
    kinds = ", ".join(f"`{kind}`" for kind in Kind if kind in PROMPT_KINDS)
    yield from ("## Why a record stays out of prompts", "")
    yield f"Prompts get the kinds {kinds}. The first of these reasons that holds is told,"
    yield from ("the same in prompts, searches, answers of the API and the console:", "")
    yield from (f"{number}. {reason.value}" for number, reason in enumerate(Hidden, start=1))


_DONE = {
    Action.REJECT: f"`{State.TOMBSTONED}` (rejected)",
    Action.MANUAL_REVIEW: f"`{State.CONSTRAINED}`, escalated to an operator",
    Action.PUBLISH_PROVISIONAL: f"`{State.ACTIVE}`, provisional tier: no prompt gets it",
    Action.PUBLISH_ACTIVE: f"`{State.ACTIVE}`, active tier, verified; without support provisional",
}
