"""The tools of the known agents: which bring something from outside, which stay in the workspace, and which
run shell commands. A tool that no row names counts as outside: what it read cannot be told.

Names are compared in lower case. The agents share many of them, so that one row names it for all.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from runlore.domain.lazy import dataclass
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind
from runlore.domain.text.word_tables import table_rows, words


@dataclass(frozen=True, kw_only=True)
class ToolRow:
    """Tools by name, whose they are, and why they count; `outside` None stays in the workspace."""

    names: tuple[str, ...]
    agents: str
    why: str
    outside: Outside | None = None


def _read_tools(table: str) -> Iterator[ToolRow]:
    """A head has the reason, with the kind and what is brought in front; below are agents and their tools."""
    for head, rows in table_rows(table):
        marks, _, why = head.rpartition(" | ")
        outside = None
        if marks:
            kind, brings = marks.split()
            outside = Outside(kind=OutsideKind[kind.upper()], brings=Brings(brings), why=why)
        for row in rows:
            agents, _, names = row.partition(": ")
            yield ToolRow(names=tuple(names.split()), agents=agents, why=why, outside=outside)


OUTSIDE_TOOLS = tuple(
    _read_tools("""
web_page text | anybody can write a web page, and a search answers with their words
    Claude Code: WebFetch WebSearch FetchUrl fetch_url web_search_tool web_fetch_tool web_search_20250305
        artifact
    Codex: web_search web_search_call web_run browser web.run search_query open_page find_in_page image_query
    Gemini CLI, Qwen Code, Antigravity: web_fetch google_web_search google_search url_context googleSearch
    opencode: webfetch websearch codesearch
web_page text | what a browser or a request shows was written by somebody else
    SWE-agent, aider, OpenHands, Cline, odek, Antigravity and others: browse fetch http_request http_get
        http_batch download crawl scrape read_url_content read_url browser_navigate browser_snapshot
        browser_action browser_subagent navigate screenshot computer open_url_in_browser read_browser_page
        view_web_document_content_chunk search_web web scrape_url
web_page text | what is heard or seen in a medium can be words that somebody put there
    odek, OpenClaw and others: transcribe vision image_search youtube_transcript
mcp_tool text | an MCP server answers with what it likes
    Claude Code, Codex, Cline: ListMcpResourcesTool ReadMcpResourceTool list_mcp_resources
        list_mcp_resource_templates read_mcp_resource mcp use_mcp_tool access_mcp_resource call_mcp_tool
other_agent text | another agent did the reading, and its own calls are not in this journal
    Claude Code, Codex, Gemini CLI, opencode, odek: Task Agent spawn_agent wait_agent send_input send_message
        followup_task resume_agent close_agent task delegate delegate_task delegate_tasks subagent
        codebase_investigator new_task TaskOutput AgentOutputTool SendMessage TeamCreate
other_agent text | a list of tasks is a team's, and each of it may write there
    Claude Code: TaskList TaskGet
past_run text | a past run's words may have come from outside
    odek, Runlore: session_search search_sessions search_runs recall_runs runlore_session_search
remote text | messages, issues and mails are written by others
    OpenClaw, Hermes and others: github gh_issue slack gmail email read_email list_emails calendar jira linear
        notion discord telegram
package code | brings code or descriptions that others wrote
    Codex and others: load_workspace_dependencies install_dependencies install_package tool_suggest
""")
)
OWN_TOOLS = tuple(
    _read_tools("""
reads and writes files of the workspace
    Claude Code, Kimi, Droid, Cursor: Read Write Edit MultiEdit NotebookRead NotebookEdit Glob Grep LS LSP
keeps the agent's own plan
    Claude Code: TodoWrite TodoRead TaskCreate TaskUpdate TaskStop EnterPlanMode ExitPlanMode
        EnterWorktree ExitWorktree ToolSearch CronCreate CronDelete CronList
the user answers
    several: AskUserQuestion ask_user request_user_input ask_followup_question
opens a skill that the user has installed
    several: Skill activate_skill skill use_skill
goes on with a command that was judged when it was started
    Claude Code, Codex: BashOutput KillShell KillBash list_agents wait
works in the workspace
    Codex: apply_patch update_plan view_image read_file list_dir grep_files
    Gemini CLI, Qwen Code: read_file write_file replace glob search_file_content grep_search list_directory
        read_many_files save_memory write_todos enter_plan_mode exit_plan_mode get_internal_docs
    opencode, Pi: read write edit multiedit patch list ls grep glob todowrite todoread question lsp invalid
    SWE-agent: open create insert edit goto scroll_up scroll_down find_file search_dir search_file submit
        str_replace_editor str_replace_based_edit_tool view_file filemap windowed_edit_replace think finish
        undo_edit exit_cost exit_format exit_forfeit
    Cursor, Cline, Antigravity, Grok, Copilot CLI, odek: list_dir view_file write_to_file replace_file_content
        multi_replace_file_content codebase_search search_files list_files replace_in_file apply_diff
        edit_file create_file delete_file file_search search_replace read_lints todo_write
        list_code_definition_names insert_content attempt_completion str_replace multi_grep batch_read
        json_query head_tail count_lines checksum word_count sort tr diff file_info tree base64 grep_code
        find_by_name report_intent
""")
)
# Those of them that show what is in the files that they are given.
FILE_READERS = words(
    "read notebookread grep glob ls read_file list_dir grep_files search_file_content grep_search"
    " list_directory read_many_files list view_file search_dir search_file find_file search_files list_files"
    " file_search codebase_search batch_read multi_grep head_tail tree open view_image json_query"
)

# Those of them that are given a file: without one nobody can tell what they show.
GIVEN_A_FILE = words("read notebookread read_file read_many_files batch_read view_file view_image")

# Those of them that write the files that they are given.
FILE_WRITERS = words(
    "write edit multiedit notebookedit apply_patch write_file replace patch create insert str_replace_editor"
    " str_replace_based_edit_tool write_to_file replace_file_content edit_file create_file replace_in_file"
    " apply_diff search_replace str_replace insert_content"
)

SHELL_TOOLS = tuple(
    _read_tools("""
judged by the commands that it runs
    Claude Code, Kimi: Bash Monitor PowerShell
    Codex, Hermes: shell local_shell local_shell_call exec_command exec shell_command container.exec
        unified_exec
types into a command that runs, a shell most of all
    Codex: write_stdin
judged by the commands that it runs
    Gemini CLI, Qwen Code: run_shell_command
    opencode, SWE-agent, Copilot CLI, Pi: bash
    Droid, Grok, Cursor, Cline, OpenClaw, Antigravity, OpenHands, aider: Shell run_terminal_cmd
        run_terminal_command execute_command run_command shell_exec terminal run execute_bash run_in_terminal
        powershell cmd sh zsh execute process run_commands
""")
)
# Tools of Runlore's own agent, in its own runs alone: anybody can call a tool so.
OUR_TOOLS = words("memory_search list_skills propose_learning scratch")

# Tools that call other tools, which then say what is read.
BATCH_TOOLS = ("batch",)

# Names that say by their shape that an MCP server answers: `mcp__server__tool`, `mcp_server_tool`.
MCP_PREFIXES = ("mcp__", "mcp_", "mcp:", "mcp.", "mcp-")
MCP_OWN_SERVERS = ("runlore",)
# The tools of Runlore's own server that tell what was reviewed, by their whole names.
MCP_OWN_REVIEWED = words(
    "search context propose why skills memory memory_search memory_context memory_propose memory_get"
    " memory_list memory_why list_skills runlore_search runlore_context runlore_propose runlore_why"
    " runlore_skills"
)
MCP_TOOL = Outside(
    kind=OutsideKind.MCP_TOOL, brings=Brings.TEXT, why="an MCP server answers with what it likes"
)
PAST_RUNS = Outside(
    kind=OutsideKind.PAST_RUN, brings=Brings.TEXT, why="a past run's words may have come from outside"
)
UNKNOWN = Outside(kind=OutsideKind.UNKNOWN_TOOL, brings=Brings.TEXT, why="no table says what it reads")


def _by_name(rows: Sequence[ToolRow]) -> Mapping[str, ToolRow]:
    return {name.lower(): row for row in rows for name in row.names}


# Names of tools that are remembered: the same few are called over and over.
REMEMBERED_TOOLS = 1_024

_OUTSIDE_BY_NAME = _by_name(OUTSIDE_TOOLS)
_OWN_BY_NAME = _by_name(OWN_TOOLS)
_SHELL_BY_NAME = _by_name(SHELL_TOOLS)


@lru_cache(maxsize=REMEMBERED_TOOLS)
def outside_of_tool(name: str) -> Outside | None:
    """Why a tool counts as outside by its name alone; None for those that stay in the workspace."""
    plain = name.strip().lower()
    if own := _own_server(plain):
        if own in MCP_OWN_REVIEWED:
            return None
        # `mcp_runlore_x_tool` may as well be the tool `tool` of a server `runlore_x`.
        return PAST_RUNS if _tells_of_runs(own) else MCP_TOOL
    if plain.startswith(MCP_PREFIXES) or "__" in plain:
        return MCP_TOOL
    if row := _OUTSIDE_BY_NAME.get(plain):
        return row.outside
    if plain in _OWN_BY_NAME or plain in _SHELL_BY_NAME or plain in BATCH_TOOLS:
        return None
    return UNKNOWN


@lru_cache(maxsize=REMEMBERED_TOOLS)
def runs_commands(name: str) -> bool:
    """Whether a tool runs shell commands, which then say what it reads."""
    return name.strip().lower() in _SHELL_BY_NAME


def is_batch(name: str) -> bool:
    return name.strip().lower() in BATCH_TOOLS


def _own_server(name: str) -> str:
    """The tool's name where Runlore's own server answers, else nothing."""
    for server in MCP_OWN_SERVERS:
        for prefix in (f"mcp__{server}__", f"mcp_{server}_", f"{server}__"):
            if name.startswith(prefix):
                return name.removeprefix(prefix)
    return ""


def _tells_of_runs(tool: str) -> bool:
    return any(word in tool for word in ("session", "run", "journal", "recover"))
