"""Writes docs/taint.md from the tables: which tools, commands and files count as outside, and why."""

from collections.abc import Iterable, Iterator, Sequence

from runlore.domain.suspicion.rules import Suspicion
from runlore.domain.taint_sources.paths import PATHS
from runlore.domain.taint_sources.programs import PROGRAMS, ProgramRow
from runlore.domain.taint_sources.tools import OUTSIDE_TOOLS, OWN_TOOLS, SHELL_TOOLS, ToolRow

INTRODUCTION = """\
Runlore records the origin of everything it learns. If a run read something from outside (neither the user's
own words nor the working folder), what is learned from it is marked: `provenance.untrusted`, `needs_review`,
and `sources` that name what was read. No rule publishes such a candidate, whatever the policy says, and no
prompt gets it until an operator has read and accepted it:

    runlore memory review confirm ID --accept-untrusted

## What counts

- **The conversation, not the call.** What one run of a session read is still in the conversation of the next.
  So a run inherits the sources of every run of its session that was opened before it ended, parallel runs
  included, and the sources of the runs whose memories it was given.
- **The evidence, not the run.** What the user states in a request, before anything pasted into it, stays
  trusted, whatever else the run read. A text to work on ("Translate into French: ...") counts as pasted, and
  what a request only mentions ("make sure the debug mode is off") is not a statement.
- **A call counts from the moment it is reported.** One that failed, was refused or has no result yet counts
  as well: its answer may have been seen.
- **A result's `source`** is the URL or path that was read. A source from outside counts, whatever
  the tool; a result whose call is not in the journal counts as an unknown tool.
- **Text and code count**: tools that bring text into the conversation at once, and tools that only fetch
  code, which is read or run later.
- **This machine is not outside.** A request (`curl`, `wget` and the like) whose addresses are all
  `localhost`, `127.0.0.0/8`, `0.0.0.0` or `[::1]` does not count, unless an option could redirect it:
  following redirects (`-L`), a proxy, `--url`, `--resolve`, `--connect-to`, a configuration file, or a
  setting such as `http_proxy`. Clients (`openssl s_client`, `ldapsearch`) count if their server is
  not this machine; rows of a database, the history of a repository and logs count wherever they lie.
- **Program texts count by what they name.** In `python -c`, `node -e`, `awk`, `vim -c` and the like, and in a
  heredoc that such a program reads, an address that is not this machine, a word that opens a
  connection and a word that starts another program are enough.
- **Unknown things count.** A tool that no table names; a program that none names, unless it is a script of
  the folder or a function of the script itself (its words are not remembered: it may be the project's own); a
  program whose name is only known when the command runs (`$TOOL x`, `$(...) x`), unless the same script sets
  it to plain words; a shell that runs unreadable output (`base64 -d | sh`); a script that cannot be parsed
  and has a program of the table where a command could begin; a call or a request that was emptied before it
  was checked.
- **Other folders count**: what a tool shows of a file that is not of the session's working folder, `../`, the
  system's folders, names of files there and what is run there, also behind `cd` and `-C`, files that are
  shown inside a container or another system, and a call of a reading tool whose arguments nobody can read.
- **Others' words in the folder count**: branches of other repositories (`git diff upstream/bob`), tags and
  aliases of git, archives, patches, lines of packages that a search prints, and a variable that is printed
  and that the script has not set.
- **Others in the user's place count**: in transcripts messages of teammates, tasks and hooks, output of
  commands that the user ran with `!`, attached files, reminders and the text of a slash command. Runlore's
  own sections do not, and a tool that is merely called like one of Runlore's does.
- **Too long things count.** One call and one run are read up to a limit of work (about a quarter of a second
  and about a second); beyond it the source is `more than is read`.

Addresses are kept without user names and passwords, and without any part that looks like a secret.
"""
RULES = (
    (
        "What a run reads from outside marks what a model makes of its conversation, shared words or not.",
        "It may say the same in other words.",
    ),
    (
        "Words from outside stay that in every later session: in a file, a log or the history that has them,"
        " in a run summary, in what an agent says or posts. The mark names where and when they were first"
        " seen.",
        "Otherwise a page that one run saves is clean for the next.",
    ),
    ("What the user types is the user's, whoever else says it.", "It is their word."),
    (
        "What the working folder had before anything outside was read, in the same run, is the folder's.",
        "Reading one's own text again on the web must not mark it.",
    ),
    (
        "A file that is written with words from outside is outside for whoever reads it, by its path.",
        "What is read there may say the same in other words.",
    ),
    (
        "So is what a command makes of such a file: a copy, a file that is moved or renamed, a part, another"
        " form.",
        "Another name does not make it the folder's own.",
    ),
    (
        "What a download, a clone, a copy from another folder or an archive put into the folder is outside"
        " for every later session, with all that is in its folder.",
        "Nobody has shown its words when it came.",
    ),
    (
        "A command of a suggestion is clean where each of its words has an origin of its own: the user typed"
        " it.",
        "It is their word.",
    ),
    (
        "Or it was run before anything outside was read, in any session, and nobody behind a reading ran it"
        " earlier.",
        "A later session may have it from a file or a summary.",
    ),
    (
        "Or a session began with it, before it had read anything at all.",
        "Nothing could have told it.",
    ),
    (
        "Or a task file, CLAUDE.md or its like names it, in the folder or at the root of its repository: as"
        " it is in git's index with nothing staged, in a folder that an operator bound (`runlore folder"
        " bind`), and not written with words from outside.",
        "The project runs it anyway. A stranger's clone does not clear itself.",
    ),
    (
        "Or it is the tool's own language (`git push -u origin main`, `go test ./...`), without a flag that"
        " forces, skips or loosens something, and without the name of a task, a package, a host or a"
        " repository that nobody typed.",
        "Everybody who has the tool runs it. A mark on everything would tell nothing.",
    ),
    (
        "Or it names, to a forge, a repository of the owner whose project it is, by the folder's remote; or"
        " sets where a cache is kept.",
        "Nobody else can make a repository there; a cache's place says nothing.",
    ),
    (
        "Values and errors that such a suggestion would quote from outside are left out of it.",
        "They would bring in what the command does not.",
    ),
    (
        "The memory of a run that had read from outside says so in later prompts, and what reads like an"
        " instruction is left out of it.",
        "A prompt must not take a page's words for its own.",
    ),
    (
        "A merge, a compaction, a replacement or a skill of something marked is marked.",
        "Rewriting is no review.",
    ),
    (
        "Only what users typed and recorded outcomes of commands support a statement"
        " ([`publication.witnesses`](policy.md)).",
        "An agent, and whatever it read, would be its own witness.",
    ),
    (
        "Neither time, nor another run of the conversation, nor forgetting removes a mark.",
        "Only a person who has read it can.",
    ),
)
MEASURED = """\

## What gets through

`make bench ONLY=poisoning` brings hostile texts in by every way, under the boldest policy, with a model that
obeys them and a judge that says yes. One run, of a sample of ten texts each way:

| way | texts | reached a prompt | became a skill |
|---|---|---|---|
| web, MCP, download, repeated at once, later, from a run's memory, the agent's own words | 70 | 0 | 0 |
| file, clone, document, git history, log, database, error, name, title | 90 | 0 | 0 |
| sub-agent, printed by the agent, written by one session and read by another, fenced paste | 40 | 0 | 0 |
| posted by an agent, posted with an operator's token | 20 | 0 | 0 |
| transcripts: teammate, task, hook, command of the user's; a skill that is imported | 50 | 0 | 0 |
| typed by the user, as a paste without any mark would be | 10 | 1 | 0 |

Attacks that no rule was written for, and honest work that looks like them, are in `tests/flow`. Each list was
written before the rules were looked at again, and one half set aside by a digest of its names. "Before" and
"first" are the figures before the rules were changed, and with rules that were made of the other half alone:

| | number | before | first | now |
|---|---|---|---|---|
| 66 first attacks, looked at | 36 | 20 | 3 | 2 |
| set aside | 30 | 19 | 6 | 1 |
| 188 later attacks, looked at | 83 | 37 | 5 | 1 |
| set aside | 105 | 53 | 13 | 0 |
| 72 honest sessions and statements that get through, looked at | 31 | 28 | 29 | 31 |
| set aside | 41 | 36 | 39 | 40 |
| the same statements behind a page, looked at | 16 | - | - | 15 |
| set aside | 16 | - | - | 16 |
| 110 last attacks, looked at | 46 | 3 | 1 | 1 |
| set aside | 64 | 9 | 6 | 3 |
| 60 honest cases beside them, looked at | 34 | 32 | 34 | 34 |
| set aside | 26 | 17 | 22 | 23 |

The last attacks and the cases beside them (`tests/flow/origin_cases.json`) were written by somebody who knew
the requirements and not the rules, and who changed the rules afterwards.

What is left open, with a reason each, is `KNOWN_OPEN`, `STILL_OPEN` and `OPEN_CASES` in the tests: a paste
without any mark, a pull request and a patch that were put into the folder by an earlier session, a server of
somebody else's that is configured under the name of ours, what the project's own tests and scripts print of
what they fetched, and what the agent's program answers to its own commands.

Of honest statements 100 of 100 reach a prompt, also behind a page of hostile text.

Listening for words takes about a quarter of the CPU time of importing sessions (22 to 26 % of three runs on a
busy machine; 21 to 30 % before the later rules); a run of 1 MB takes 0.18 s of CPU, one of 16 MB no more, so
that a gigabyte in runs of a megabyte takes some 3 minutes: reckoned from the one measured. However much is
read, 20,000 fingerprints of a run and 500,000 in all are kept.

Capturing twelve imported sessions (54 runs) takes 0.42 to 0.45 s of CPU with listening and 0.27 to 0.31 s
without; importing and capturing them together a third more with it than without. What an import kept of a run
is not taken again when it is captured. Where the runs of each session have one and the same moment, so that
each holds the others, it is 1.6 s with listening and 0.8 s without.

Of 51 suggestions made of the sessions of all public people 14 are marked: 9 of 41 of those who were looked
at, 5 of 10 of those who were set aside, three of which come behind the output of a hook.
"""
KNOWN_AGAIN = """\

## Words that are known again

When a run is captured, Runlore keeps fingerprints of what it read from outside: hashes of four words in a
row (of every third such row, so that six words in a row are always found), of addresses and of hosts.
Everyday words and lines of code with fewer than six plain words get none. A short statement that has one of
these fingerprints is from outside. A file, or another result from inside, is from outside if its prose has
three of them and they are a fifth of its own, addresses apart. The source then reads
`words first seen in https://example.org/page on 2026-05-03`.

Fingerprints are kept only of calls that print nothing but what they fetched: a web tool, `curl` and what it
is piped into, `gh`. None are kept of package managers, of `git pull`, and of a call that also runs other
commands (`git pull && git status`): the working folder's own words would count as outside for good.

At most 20,000 of a run and 500,000 in all are kept, for a year; then the oldest go. That is about 25 MB in
SQLite at most, however much is read. A megabyte of text takes about a fifth of a second, and of one run no
more than about that much is read. The hashes hide nothing from somebody who has the store: they can try
whether a phrase is among them. `runlore learning revoke-matching --origin SOURCE` shows, and then takes back,
everything that names an origin or has words first seen there, waiting candidates included.
`runlore learning clear-origin SOURCE` takes the mark from what rests on that origin alone. Forgetting a run
deletes its fingerprints, except those that another run has too. Backups contain them.

These are not recognized: a text that was translated, encoded or rephrased before another session reads it;
what a call fetched and printed beside other output; what was read while nothing was captured; and, in
suggestions made of imported transcripts, the words of other sessions.
"""
AFTERWORDS = """\
## Texts that are flagged

Text that hides something or gives orders to the agent is flagged when it is stored, wherever it comes from,
and is then treated as above. Its sources name the reason as `content: REASON`. It is shown escaped. Ordinary
rules, such as "Always run the tests before committing", are not flagged. Neither is a rule of the user's own
about how the agent answers ("From now on answer in German"), in a sentence or a label that they typed; in
other people's text, in the answer of a tool and in an edit it is flagged. `make bench ONLY=poisoning` prints
how often a harmless text is.
"""


def taint_page(generated: str) -> str:
    """The page, with the line that says it is generated."""
    return "\n".join(
        [
            *("# Taint: what was read from outside", "", generated, INTRODUCTION),
            *("## The rules", "", *_table(("rule", "why"), RULES), KNOWN_AGAIN),
            *("## Tools that read from outside", ""),
            *_table(("tools", "agents", "kind", "brings", "why"), map(_outside_tool, OUTSIDE_TOOLS)),
            "",
            "Any name of the shape `mcp__server__tool`, `mcp_server_tool` or `server__tool` is an MCP tool.",
            *("", "## Tools that stay in the workspace", "", "They count by the file they are given.", ""),
            *_table(("tools", "agents", "why"), map(_own_tool, OWN_TOOLS)),
            *("", "## Tools that run shell commands", "", "They count by the commands that they run.", ""),
            *_table(("tools", "agents"), ((_names(row.names), row.agents) for row in SHELL_TOOLS)),
            *("", "## Shell commands", ""),
            "They are found inside `sudo`, `env`, `xargs`, `bash -c`, `$(...)` and the like, and inside",
            "programs that run another command: `docker run`, `uv run`, `poetry run`, `bundle exec` and the",
            "like. If no row below names a program, an address of another machine in its arguments counts.",
            "",
            *_table(("programs", "with", "but not with", "kind", "brings", "why"), map(_program, PROGRAMS)),
            *("", "## Files", "", "They count when a tool or a command reads them, wherever they lie.", ""),
            *_table(("files", "kind", "why"), _files()),
            *("", AFTERWORDS),
            *(f"- {reason.value}" for reason in Suspicion),
            MEASURED,
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
