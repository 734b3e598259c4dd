"""The kinds of lines, events and items in rollouts of Codex: which are left out, and how they are known."""

import re
from collections.abc import Mapping, Sequence

_KIND_NAMES = (
    "session_meta turn_context response_item event_msg compacted world_state token_usage_record"
    " inter_agent_communication_metadata"
)
_EVENT_NAMES = (
    "token_count agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break"
    " task_started turn_started context_compacted thread_settings_applied thread_goal_updated"
    " patch_apply_begin patch_apply_end exec_command_begin exec_command_output_delta web_search_begin"
    " web_search_end mcp_tool_call_begin mcp_tool_call_end collab_waiting_end collab_waiting_begin"
    " collab_agent_spawn_begin collab_agent_spawn_end collab_agent_interaction_begin"
    " collab_agent_interaction_end collab_close_begin collab_close_end collab_resume_begin"
    " collab_resume_end sub_agent_activity entered_review_mode exited_review_mode guardian_assessment"
    " turn.completed turn.started codex/event/raw_item dynamic_tool_call_request dynamic_tool_call_response"
    " image_generation_begin image_generation_end view_image_tool_call undo_started undo_completed"
    " item_started plan_update plan_delta turn_diff background_event stream_error warning"
    " shutdown_complete session_configured thread_rolled_back deprecation_notice hook_started"
    " hook_completed request_user_input elicitation_request exec_approval_request"
    " apply_patch_approval_request model_reroute realtime_conversation_started"
    " realtime_conversation_closed skills_update_available thread_started"
)
_ITEM_NAMES = (
    "reasoning agent_message ghost_snapshot image_generation_call compaction compaction_summary"
    " context_compaction tool_search_output other"
)

KINDS = frozenset(_KIND_NAMES.split())
"""What a line can be."""
PASSED_EVENTS = frozenset(_EVENT_NAMES.split())
"""Events of the harness, and those that are told from elsewhere."""
PASSED_ITEMS = frozenset(_ITEM_NAMES.split())
"""Items that are encrypted, the harness's, or spoken between agents."""

_PASSED = {
    b"event_msg": frozenset(name.encode() for name in PASSED_EVENTS),
    b"response_item": frozenset(name.encode() for name in PASSED_ITEMS),
}
_BEGINNING = re.compile(
    rb'\{"timestamp":"[^"]{1,40}",(?:"ordinal":\d{1,9},)?'
    rb'"type":"(event_msg|response_item)","payload":\{"type":"([^"]{1,60})"'
)
_ENDS = (b"}\n", b"}", b"}\r\n")
_ANOTHER = b'"timestamp":'

FLAT_MESSAGE: Sequence[frozenset[str]] = (
    frozenset({"role", "content"}),
    frozenset({"role", "message"}),
    frozenset({"id", "timestamp"}),
)
"""The keys that a line without a type has in the flat form, one set of them at least."""
FLAT_ITEMS: Mapping[str, Sequence[frozenset[str]]] = {
    "message": (frozenset({"role", "content"}),),
    "function_call": (frozenset({"name", "call_id"}), frozenset({"function"})),
    "function_call_output": (frozenset({"call_id", "output"}),),
    "local_shell_call": (frozenset({"action"}),),
    "custom_tool_call": (frozenset({"name", "input"}),),
    "custom_tool_call_output": (frozenset({"call_id", "output"}),),
    "function_result": (frozenset({"result"}),),
    "tool_call": (frozenset({"function"}),),
    "tool_result": (frozenset({"name", "result"}),),
    "reasoning": (frozenset({"summary"}), frozenset({"encrypted_content"})),
    "state": (frozenset(),),
    "error": (frozenset(),),
}
"""The keys that an item has in the flat form, by its type."""


def is_passed(line: bytes) -> bool:
    """Whether a line is known by its beginning to be left out, so that it need not be parsed. One that is cut
    off is not, and none in which another one begins."""
    found = _BEGINNING.match(line)
    if found is None or found[2] not in _PASSED[found[1]]:
        return False
    return line.endswith(_ENDS) and line.find(_ANOTHER, found.end()) < 0
