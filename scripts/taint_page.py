"""Writes docs/taint.md from the tables: which tools, commands and files count as outside, and why."""

from collections.abc import Iterable, Iterator, Sequence

from runlore.domain.suspicion.rules import Suspicion
from runlore.domain.taint_sources.paths import PATHS
from runlore.domain.taint_sources.programs import PROGRAMS, ProgramRow
from runlore.domain.taint_sources.tools import OUTSIDE_TOOLS, OWN_TOOLS, SHELL_TOOLS, ToolRow

INTRODUCTION = """\
Runlore keeps with everything it learns where that came from. What a run read from outside the user's own
words and workspace marks what is learned from it: `provenance.untrusted`, `needs_review`, and `sources` that
name what was read. Such a candidate is never published by itself, whatever the policy says, and reaches no
prompt until an operator has read and accepted it:

    runlore memory review confirm ID --accept-untrusted

The mark follows everything that is made of it: a merge, a compaction, a supersession of something marked is
marked. It is never washed off by time, by another run of the same conversation, or by forgetting.

## What counts

- **The conversation, not the call.** What one run of a session read is still in the conversation of the next.
  A run inherits what every run of its session read that was opened before it ended, runs beside it included,
  and what the runs read whose memories it was given.
- **The evidence, not the run.** What the user's own request says, before anything pasted into it,
  stays trusted, whatever the run read besides. A text that is given to be worked on ("Translate into French:
  ...") is pasted, and what a request only mentions ("make sure the debug mode is off") it does not say.
- **A call counts from the moment it is reported.** One that failed, was refused or has no result yet counts
  as well: its answer may have been seen.
- **A result's `source`** is the URL or path that was read. One from outside counts whatever tool it is of; a
  result whose call is not in the journal counts as an unknown tool.
- **Both kinds count**: what brings text into the conversation at once, and what merely fetches code, whose
  words are read later or run.
- **This machine is not outside.** A request (`curl`, `wget` and their kin) of which every address is
  `localhost`, `127.0.0.0/8`, `0.0.0.0` or `[::1]` does not count, unless an option could lead it elsewhere:
  following redirects (`-L`), a proxy, `--url`, `--resolve`, `--connect-to`, a configuration file, or a
  setting such as `http_proxy`. Clients (`psql`, `mysql`, `redis-cli`, `openssl s_client` and their kin)
  count where their server is not this machine.
- **Program texts count by what they name.** In `python -c`, `node -e`, `awk`, `vim -c` and the like, and in a
  heredoc that such a program reads, an address elsewhere, a word that opens a connection and a word that
  starts another program are enough.
- **What nobody knows counts.** A tool that no table names; a program whose name is made up only when the
  command runs (`$TOOL x`, `$(...) x`), unless the same script sets it to plain words; a shell that runs what
  something unreadable prints (`base64 -d | sh`); a script that cannot be parsed and in which a program of the
  table stands where a command could begin; a call or a request that was emptied before anybody looked.
- **So does what is too long.** One call and one run are read up to a bound of work (about a quarter of a
  second and about a second); beyond it the source is `more than is read`.

Addresses are kept without user names and passwords, and without any part that looks like a secret.
"""
AFTERWORDS = """\
## Texts that are flagged

Content that hides something or speaks to the agent is flagged when it is admitted, wherever it comes from,
and is then treated as above. Its sources name the reason as `content: REASON`. It is shown escaped. What
people want remembered, such as "Always run the tests before committing", is not flagged. Nor is a rule
of the user's own on how the agent answers ("From now on answer in German"), in a sentence or a label that
they typed; in anybody else's text, in the answer of a tool and in an edit it is;
`make bench ONLY=poisoning` prints how often a harmless text is.
"""


def taint_page(generated: str) -> str:
    """The page, with the line that says it is generated."""
    return "\n".join(
        [
            *("# Taint: what was read from outside", "", generated, INTRODUCTION),
            *("## Tools that read from outside", ""),
            *_table(("tools", "agents", "kind", "brings", "why"), map(_outside_tool, OUTSIDE_TOOLS)),
            "",
            "Any name of the shape `mcp__server__tool`, `mcp_server_tool` or `server__tool` is an MCP tool.",
            *("", "## Tools that stay in the workspace", "", "They count by the file they are given.", ""),
            *_table(("tools", "agents", "why"), map(_own_tool, OWN_TOOLS)),
            *("", "## Tools that run shell commands", "", "They count by the commands that they run.", ""),
            *_table(("tools", "agents"), ((_names(row.names), row.agents) for row in SHELL_TOOLS)),
            *("", "## Shell commands", ""),
            "They are seen through `sudo`, `env`, `xargs`, `bash -c`, `$(...)` and the like, and through",
            "what runs another command: `docker run`, `uv run`, `poetry run`, `bundle exec` and the like. An",
            "address elsewhere that a program is called with counts where no row below says more.",
            "",
            *_table(("programs", "with", "but not with", "kind", "brings", "why"), map(_program, PROGRAMS)),
            *("", "## Files", "", "They count when a tool or a command reads them, wherever they lie.", ""),
            *_table(("files", "kind", "why"), _files()),
            *("", AFTERWORDS),
            *(f"- {reason.value}" for reason in Suspicion),
            "",
        ]
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _outside_tool(row: ToolRow) -> tuple[str, ...]:
    assert row.outside is not None, "every row of that table is outside"
    return _names(row.names), row.agents, row.outside.kind, row.outside.brings, row.why


def _own_tool(row: ToolRow) -> tuple[str, ...]:
    return _names(row.names), row.agents, row.why


def _program(row: ProgramRow) -> tuple[str, ...]:
    told = row.outside
    behind, unless = _names(sorted(row.when)) or "anything", _names(sorted(row.unless)) or "-"
    return _names(row.programs), behind, unless, told.kind, told.brings, told.why


def _files() -> Iterator[tuple[str, ...]]:
    for row in PATHS:
        yield row.shows.replace("*", "\\*"), row.outside.kind, row.outside.why


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
