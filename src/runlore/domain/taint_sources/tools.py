"""The tools of the known agents: which bring something from outside, which stay in the workspace, and which
run shell commands. A tool that no row names counts as outside: what it read cannot be told.

Names are compared in lower case. The agents share many of them, so that one row names it for all.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from runlore.domain.lazy import dataclass
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind, words


@dataclass(frozen=True, kw_only=True)
class ToolRow:
    """Tools by name, whose they are, and why they count; `outside` None stays in the workspace."""

    names: tuple[str, ...]
    agents: str
    why: str
    outside: Outside | None = None


def _out(names: str, agents: str, why: str, *, kind: OutsideKind, brings: Brings = Brings.TEXT) -> ToolRow:
    return ToolRow(
        names=tuple(names.split()),
        agents=agents,
        why=why,
        outside=Outside(kind=kind, brings=brings, why=why),
    )


def _own(names: str, agents: str, why: str) -> ToolRow:
    return ToolRow(names=tuple(names.split()), agents=agents, why=why)


OUTSIDE_TOOLS: Sequence[ToolRow] = (
    _out(
        "WebFetch WebSearch FetchUrl fetch_url web_search_tool web_fetch_tool web_search_20250305 artifact",
        "Claude Code",
        "anybody can write a web page, and a search answers with their words",
        kind=OutsideKind.WEB_PAGE,
    ),
    _out(
        "web_search web_search_call web_run browser web.run search_query open_page find_in_page image_query",
        "Codex",
        "anybody can write a web page, and a search answers with their words",
        kind=OutsideKind.WEB_PAGE,
    ),
    _out(
        "web_fetch google_web_search google_search url_context googleSearch",
        "Gemini CLI, Qwen Code, Antigravity",
        "anybody can write a web page, and a search answers with their words",
        kind=OutsideKind.WEB_PAGE,
    ),
    _out(
        "webfetch websearch codesearch",
        "opencode",
        "anybody can write a web page, and a search answers with their words",
        kind=OutsideKind.WEB_PAGE,
    ),
    _out(
        "browse fetch http_request http_get http_batch download crawl scrape read_url_content read_url"
        " browser_navigate browser_snapshot browser_action browser_subagent navigate screenshot computer"
        " open_url_in_browser read_browser_page view_web_document_content_chunk search_web web scrape_url",
        "SWE-agent, aider, OpenHands, Cline, odek, Antigravity and others",
        "what a browser or a request shows was written by somebody else",
        kind=OutsideKind.WEB_PAGE,
    ),
    _out(
        "transcribe vision image_search youtube_transcript",
        "odek, OpenClaw and others",
        "what is heard or seen in a medium can be words that somebody put there",
        kind=OutsideKind.WEB_PAGE,
    ),
    _out(
        "ListMcpResourcesTool ReadMcpResourceTool list_mcp_resources list_mcp_resource_templates"
        " read_mcp_resource mcp use_mcp_tool access_mcp_resource call_mcp_tool",
        "Claude Code, Codex, Cline",
        "an MCP server answers with what it likes",
        kind=OutsideKind.MCP_TOOL,
    ),
    _out(
        "Task Agent spawn_agent wait_agent send_input send_message followup_task resume_agent close_agent"
        " task delegate delegate_task delegate_tasks subagent codebase_investigator new_task"
        " TaskOutput AgentOutputTool SendMessage TeamCreate",
        "Claude Code, Codex, Gemini CLI, opencode, odek",
        "another agent did the reading, and its own calls are not in this journal",
        kind=OutsideKind.OTHER_AGENT,
    ),
    _out(
        "session_search search_sessions search_runs recall_runs runlore_session_search",
        "odek, Runlore",
        "a past run's words may have come from outside",
        kind=OutsideKind.PAST_RUN,
    ),
    _out(
        "github gh_issue slack gmail email read_email list_emails calendar jira linear notion discord"
        " telegram",
        "OpenClaw, Hermes and others",
        "messages, issues and mails are written by others",
        kind=OutsideKind.REMOTE,
    ),
    _out(
        "load_workspace_dependencies install_dependencies install_package tool_suggest",
        "Codex and others",
        "brings code or descriptions that others wrote",
        kind=OutsideKind.PACKAGE,
        brings=Brings.CODE,
    ),
)

OWN_TOOLS: Sequence[ToolRow] = (
    _own(
        "Read Write Edit MultiEdit NotebookRead NotebookEdit Glob Grep LS LSP",
        "Claude Code, Kimi, Droid, Cursor",
        "reads and writes files of the workspace",
    ),
    _own(
        "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet TaskStop EnterPlanMode ExitPlanMode"
        " EnterWorktree ExitWorktree ToolSearch CronCreate CronDelete CronList",
        "Claude Code",
        "keeps the agent's own plan",
    ),
    _own("AskUserQuestion ask_user request_user_input ask_followup_question", "several", "the user answers"),
    _own("Skill activate_skill skill use_skill", "several", "opens a skill that the user has installed"),
    _own(
        "BashOutput KillShell KillBash list_agents wait",
        "Claude Code, Codex",
        "goes on with a command that was judged when it was started",
    ),
    _own(
        "apply_patch update_plan view_image read_file list_dir grep_files", "Codex", "works in the workspace"
    ),
    _own(
        "read_file write_file replace glob search_file_content grep_search list_directory read_many_files"
        " save_memory write_todos enter_plan_mode exit_plan_mode get_internal_docs",
        "Gemini CLI, Qwen Code",
        "works in the workspace",
    ),
    _own(
        "read write edit multiedit patch list ls grep glob todowrite todoread question lsp invalid",
        "opencode, Pi",
        "works in the workspace",
    ),
    _own(
        "open create insert edit goto scroll_up scroll_down find_file search_dir search_file submit"
        " str_replace_editor str_replace_based_edit_tool view_file filemap windowed_edit_replace think finish"
        " undo_edit exit_cost exit_format exit_forfeit",
        "SWE-agent",
        "works in the workspace",
    ),
    _own(
        "list_dir view_file write_to_file replace_file_content multi_replace_file_content codebase_search"
        " search_files list_files replace_in_file apply_diff edit_file create_file delete_file file_search"
        " search_replace read_lints todo_write list_code_definition_names insert_content attempt_completion"
        " str_replace multi_grep batch_read json_query head_tail count_lines checksum word_count sort tr diff"
        " file_info tree base64 grep_code find_by_name report_intent",
        "Cursor, Cline, Antigravity, Grok, Copilot CLI, odek",
        "works in the workspace",
    ),
)

# Those of them that show what is in the files that they are given.
FILE_READERS = words(
    "read notebookread grep glob ls read_file list_dir grep_files search_file_content grep_search"
    " list_directory read_many_files list view_file search_dir search_file find_file search_files list_files"
    " file_search codebase_search batch_read multi_grep head_tail tree open view_image json_query"
)

# Those of them that write the files that they are given.
FILE_WRITERS = words(
    "write edit multiedit notebookedit apply_patch write_file replace patch create insert str_replace_editor"
    " str_replace_based_edit_tool write_to_file replace_file_content edit_file create_file replace_in_file"
    " apply_diff search_replace str_replace insert_content"
)

SHELL_TOOLS: Sequence[ToolRow] = (
    _own("Bash Monitor PowerShell", "Claude Code, Kimi", "judged by the commands that it runs"),
    _own(
        "shell local_shell local_shell_call exec_command exec shell_command container.exec unified_exec",
        "Codex, Hermes",
        "judged by the commands that it runs",
    ),
    _own("write_stdin", "Codex", "types into a command that runs, a shell most of all"),
    _own("run_shell_command", "Gemini CLI, Qwen Code", "judged by the commands that it runs"),
    _own("bash", "opencode, SWE-agent, Copilot CLI, Pi", "judged by the commands that it runs"),
    _own(
        "Shell run_terminal_cmd run_terminal_command execute_command run_command shell_exec terminal run"
        " execute_bash run_in_terminal powershell cmd sh zsh execute process run_commands",
        "Droid, Grok, Cursor, Cline, OpenClaw, Antigravity, OpenHands, aider",
        "judged by the commands that it runs",
    ),
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
    """Whether a tool calls other tools."""
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
