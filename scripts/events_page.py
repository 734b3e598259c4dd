"""The page on posting runs: the shapes of events, printed from the table that reads them."""

from runlore.domain import limits
from runlore.domain.journal_entry import reported_fields

_PAGE = """# Posting runs

{generated}
Any program can post its agent's runs, and they are kept, remembered and learned from like those of any
other agent. A run is one request and all that followed. The daemon has to run; the calls go to its socket,
or to 127.0.0.1:7717.

```console
$ runlore up --detach
...
$ cat > post <<'END'
> exec curl --silent --unix-socket ~/.runlore/daemon.sock --json "$2" \\
>   -H "Authorization: Bearer $(cat ~/.runlore/operator.token)" "http://localhost/v1/$1"
> END
```

A program of its own gets a token of its own: `runlore token create NAME --role agent`
([daemon.md](daemon.md)).

## A whole run

A session, a run with its request, what happened, and its end. Ids are yours to choose; where you leave them
out, the answer tells the one that was made.

```console
$ sh post sessions '{{"session_id": "build", "agent": "mine", "title": "The failing build"}}'
{{"session_id":"build",...
$ sh post sessions/build/runs '{{"run_id": "build-1", "request": "Why does it fail?", "context": true}}'
{{"run_id":"build-1","session_id":"build","status":"running",...
$ sh post runs/build-1/events '{{"first_number": 3, "events": [
>   {{"type": "tool_call", "call_id": "c1", "name": "shell", "arguments": {{"command": "make"}}}},
>   {{"type": "tool_result", "call_id": "c1", "output": "No space left", "exit_code": 2, "is_error": true}},
>   {{"type": "tool_call", "call_id": "c2", "name": "fetch", "arguments": {{"url": "https://example.org/df"}}}},
>   {{"type": "tool_result", "call_id": "c2", "output": "Use df -h.", "source": "https://example.org/df"}},
>   {{"type": "assistant_message", "text": "The disk is full: /tmp holds 40 GB of old builds."}},
>   {{"type": "usage", "model": "some-model", "input_tokens": 1200, "output_tokens": 80}}
> ]}}'
{{"first_number":3,"last_number":8,"stored":true}}
$ sh post runs/build-1/finish '{{"status": "completed"}}'
{{"run_id":"build-1","session_id":"build","status":"completed",...
$ runlore session journal build
...
$ runlore session context build
...
```

- `context: true` answers with `sections`: what the prompt should get, reviewed memory and earlier runs.
- Events are numbered through a session, what Runlore itself writes too: here opening the run took 1 and 2.
  `first_number` makes an append repeatable: the same range again changes nothing, another one is a
  conflict that tells the next number. Leave it out and events go to the end.
- A run ends as `completed`, `failed` (with `error`), `interrupted` or `cancelled`.
- `POST /v1/runs/{{id}}/artifacts` keeps a text that a run leaves, `/scratch` a note for the run itself.

## The shapes of events

`events` holds 1 to {events_max:,} objects, each with a `type` and the fields of that type, at most
{bytes_max:,} bytes each. Secrets are redacted on entry.

{fields}
| `usage` | `model` | no | the model |
| | `input_tokens`, `output_tokens`, ... | no | what its maker reports: numbers and short words |

What does not fit is refused (422) with the field and the fields that there are, and nothing of the call is
stored:

```console
$ sh post runs/build-1/events '{{"events": [{{"type": "tool_call", "id": "c3"}}]}}'
{{"type":"urn:runlore:error:event.field",...its fields are: call_id, name, arguments; docs/events.md...
$ runlore down
...
```

Every call, answer and field stands in [reference/api.md](reference/api.md), and in `GET /openapi.json`.
"""


def events_page(generated: str) -> str:
    """The whole page."""
    lines = ["| type | field | needed | what it is |", "|---|---|---|---|"]
    before = None
    for kind, name, is_required, text in reported_fields():
        shown = "" if kind == before else f"`{kind}`"
        lines.append(f"| {shown} | `{name}` | {'yes' if is_required else 'no'} | {text} |")
        before = kind
    return _PAGE.format(
        generated=generated,
        fields="\n".join(lines),
        events_max=limits.EVENTS_PER_CALL_MAX,
        bytes_max=limits.EVENT_BYTES_MAX,
    )
