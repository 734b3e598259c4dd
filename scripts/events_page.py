"""The page on posting runs: the shapes of events, printed from the table that reads them."""

from runlore.domain import limits
from runlore.domain.runs.journal_entry import reported_fields

_PAGE = """# Posting runs

{generated}
Any program can report its agent's runs. Runlore stores, remembers and learns from them as from the runs of
any other agent. A run is one request and everything that followed. The daemon has to be running; the calls
go to its socket, or to 127.0.0.1:7717.

```console
$ runlore up --detach
...
$ cat > post <<'END'
> exec curl --silent --unix-socket ~/.runlore/daemon.sock --json "$2" \\
>   -H "Authorization: Bearer $(cat ~/.runlore/operator.token)" "http://localhost/v1/$1"
> END
```

Give your program a token of its own: `runlore token create NAME --role agent` ([daemon.md](daemon.md)).

## A whole run

These calls create a session, open a run with its request, add its events, and end it. You can choose the
ids; if you leave one out, the answer contains a new one.

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

- With `context: true` the answer contains `sections`: the texts for the prompt, with reviewed memory and
  earlier runs.
- Events are numbered through a session, including those that Runlore itself writes: here opening the run
  took 1 and 2. With `first_number` you can repeat an append: the same range again changes nothing, another
  one is a conflict that names the next number. Without it events are added at the end.
- A run ends as `completed`, `failed` (with `error`), `interrupted` or `cancelled`.
- `POST /v1/runs/{{id}}/artifacts` stores a text that a run produced, `/scratch` a note for the run itself.

## The shapes of events

`events` contains 1 to {events_max:,} objects, each with a `type` and the fields of that type, at most
{bytes_max:,} bytes each. Secrets are redacted on entry.

{fields}
| `usage` | `model` | no | the model |
| | `input_tokens`, `output_tokens`, ... | no | what the provider reports: numbers and short words |

A wrong event is refused (422); the error names the field and the fields that exist, and nothing of the call
is stored:

```console
$ sh post runs/build-1/events '{{"events": [{{"type": "tool_call", "id": "c3"}}]}}'
{{"type":"urn:runlore:error:event.field",...its fields are: call_id, name, arguments; docs/events.md...
$ runlore down
...
```

Every call, answer and field is in [reference/api.md](reference/api.md), and in `GET /openapi.json`.
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
