"""The page of the run-memory and retention policies, printed from their tables."""

from runlore.domain.policies.policy import (
    RANGES,
    RetentionPolicy,
    RunMemoryPolicy,
    SearchVisibility,
    policy_to_plain,
)
from runlore.domain.record import JsonValue

# What each field means.
_TEXTS = {
    "enabled": "whether runs are remembered and memories of them given; switched off, what is stored stays",
    "retention_days": "how long the memory of a run is kept; older ones are deleted",
    "max_tracked_per_session": "how many memories of a session are used, the newest; a new one displaces one",
    "max_prompt_entries": "how many of them a prompt gets at most",
    "budget_tokens": "how many tokens these may take in a prompt",
    "redact_pii": "whether personal data is left out of what is remembered",
    "search_visibility": "whose runs a session's search finds: those of its scopes, or its own alone",
    "external_run_idle_hours": "after so long without a word an agent's open run is interrupted",
    "journal_days": "how long the words of journals are kept",
    "journal_mb_max": "how many megabytes of them are kept; the oldest go first",
    "artifact_days": "how long artifacts of runs are kept",
    "artifact_mb_max": "how many megabytes of them are kept; the oldest go first",
    "exports_kept": "how many exports are kept, the newest",
    "log_mb_max": "how large the daemon's log grows before another one is begun",
    "logs_kept": "how many of these logs are kept",
    "answer_days": "how long an idempotency key is remembered with its answer",
    "backup_hours": "how many hours lie between two backups that the daemon makes and proves; 0: none",
    "backups_kept": "how many of the backups that the daemon makes are kept, the newest",
}

_PAGE = """# The run-memory and retention policies

{generated}
Policies are documents with versions. A policy is replaced as a whole: a field that a document leaves out
takes its default, and an unknown field is refused. The learning policy and the skills policy are on
[a page of their own](../policy.md).

```console
$ runlore policy show run-memory
...
$ runlore policy set run-memory --set retention_days=14
...
$ runlore policy history run-memory
...
$ runlore policy rollback run-memory
...
```

Over HTTP the same are `GET` and `PUT /v1/policies/run-memory` (`{{"policy": {{"retention_days": 14}}}}`),
`GET .../history` and `POST .../rollback`. A rollback without a revision goes back to the one before the
present one, as a new revision: asked for twice it takes itself back, with one `Idempotency-Key` it is done
once. `--to N` (`to_revision`) names one.

## Run memory

What is remembered of runs that ended, and how much of it a session's next prompt gets.

{run_memory}

**Switching it off** (`enabled = false`) stops use and capture: no run is remembered, nothing remembered is
given or found, and nothing is learned from runs. What is stored stays until its retention ends, and is
there again when it is switched on. Journals, records and the episodes of runs are not run memory.

**Deleting it** is an act of its own. It is shown first, has to be confirmed, leaves an episode that says
who did it and when, and does not come back:

```console
$ runlore policy set run-memory --set enabled=false
...
$ runlore capture delete-memories --dry-run
Nothing is remembered of runs there.
$ runlore capture delete-memories  # exits 2
error: 0 run memories would be deleted for good: confirm it [run-memory.unconfirmed]
...
$ runlore capture delete-memories --yes
Nothing is remembered of runs there.
```

`--session ID` takes those of one session alone; over HTTP it is `POST /v1/capture/delete-memories` with
`{{"confirm": true}}`. To erase what runs said, journal and all, `runlore memory forget` the run or its
session.

## Retention

How long and how much is kept; `0` is without limit where the range begins with it. What goes of a journal
leaves its numbers, so that a session's history has no gaps. A change is enforced at once, by a job, and
every hour.

{retention}
"""


def policies_page(generated: str) -> str:
    """The whole page."""
    return _PAGE.format(
        generated=generated,
        run_memory=_table(RunMemoryPolicy()),
        retention=_table(RetentionPolicy()),
    )


def plain_schema(policy: RunMemoryPolicy | RetentionPolicy) -> dict[str, JsonValue]:
    """The same as a JSON schema."""
    return {"properties": {name: _field(name, value) for name, value in policy_to_plain(policy).items()}}


def _field(name: str, value: JsonValue) -> dict[str, JsonValue]:
    about = _TEXTS[name]
    described: dict[str, JsonValue] = {"description": f"{about[0].upper()}{about[1:]}."}
    if isinstance(value, str):
        return {**described, "enum": [each.value for each in SearchVisibility]}
    if isinstance(value, bool):
        return described
    least, most = RANGES[name]
    return {**described, "minimum": least, "maximum": most}


def _table(policy: RunMemoryPolicy | RetentionPolicy) -> str:
    rows = [
        f"| `{name}` | `{_default(value)}` | {_allowed(name, value)} | {_TEXTS[name]} |"
        for name, value in policy_to_plain(policy).items()
    ]
    return "\n".join(["| field | default | may be | meaning |", "|---|---|---|---|", *rows])


def _default(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _allowed(name: str, value: JsonValue) -> str:
    if isinstance(value, bool):
        return "true, false"
    if isinstance(value, str):
        return ", ".join(SearchVisibility)
    least, most = RANGES[name]
    return f"{least:,} to {most:,}"
