"""What Claude Code attaches to a conversation, and which of it brings somebody else's text into it.

Listings, reminders of the program itself and what it tells of the workspace bring none. What is not known
here may.
"""

from typing import Final

from runlore.agents.transcripts.parsing import Plain, list_of, text_of

QUEUED: Final = "queued_command"
_HOOK_SUCCEEDED: Final = "hook_success"
# Where what a hook puts out is shown to the model.
_SHOWN: Final = frozenset({"", "SessionStart", "UserPromptSubmit"})
# Kinds that bring no text from outside: of the program, of the workspace, or shown to the user alone.
HARMLESS: Final = frozenset(
    {
        "agent_listing_delta",
        "agent_mention",
        "already_read_file",
        "auto_mode",
        "auto_mode_exit",
        "command_permissions",
        "compact_file_reference",
        "compaction_reminder",
        "context_efficiency",
        "critical_system_reminder",
        "date_change",
        "deferred_tools_delta",
        "diagnostics",
        "directory",
        "edited_image_file",
        "edited_text_file",
        "file",
        "hook_cancelled",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_system_message",
        "ide_opened_file",
        "invoked_skills",
        "mcp_instructions_delta",
        "nested_memory",
        "opened_file_in_ide",
        "output_style",
        "pdf_reference",
        "plan_file_reference",
        "plan_mode",
        "plan_mode_exit",
        "plan_mode_reentry",
        "selected_lines_in_ide",
        "skill_listing",
        "structured_output",
        "task_reminder",
        "task_status",
        "team_context",
        "todo",
        "todo_reminder",
        "token_usage",
        "ultrathink_effort",
        "verify_plan_reminder",
    }
)
_NAMES: Final = {"mcp_resource": "an MCP resource"}


def outside_of(attachment: Plain) -> str:
    """What an attachment that brings text from outside is called; empty for one that brings none."""
    kind = text_of(attachment.get("type"))
    if not attachment or kind == QUEUED or kind in HARMLESS:
        return ""
    if kind == _HOOK_SUCCEEDED:
        is_shown = text_of(attachment.get("hookEvent")) in _SHOWN
        return "the output of a hook" if is_shown and _has_text(attachment.get("content")) else ""
    if kind.startswith("hook_") or kind == "async_hook_response":
        return "the output of a hook"
    return _NAMES.get(kind, "an attachment")


def _has_text(content: object) -> bool:
    return bool(text_of(content).strip() or list_of(content))
