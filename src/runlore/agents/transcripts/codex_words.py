"""Which words in a rollout of Codex are the user's own: harness messages come in the same form as theirs."""

import re

# What the harness says in the place of the user, by the tag in which it says it.
_HARNESS_TAGS = (
    "environment_context user_instructions permissions subagent_notification turn_aborted user_action"
    " recommended_plugins skill skills user_shell_command instructions collaboration_mode personality"
    " model_switch system-reminder apps_instructions plugins_instructions hook_context goal_context"
    " realtime_conversation memory_context ghost_snapshot turn_interrupted multi_agent_mode image"
)
_HARNESS = re.compile(
    rf"\s{{0,40}}<(?:{'|'.join(map(re.escape, _HARNESS_TAGS.split()))})[\s>]", re.IGNORECASE
)
# Another tag of the harness's making: two words or more, and the text ends with it.
_TAGGED = re.compile(r"\s{0,40}<([a-z]{1,30}(?:_[a-z]{1,30}){1,5})>")
_PROJECT_TEXT = re.compile(r"\s{0,40}# (?:AGENTS\.md|[^\n]{0,200}) instructions for ")
# Extensions of editors put what is open in front of what was asked for.
_REQUEST_MARK = "## My request for Codex:"
_EDITOR_TEXT = ("# Context from my IDE setup:", "# Files mentioned by the user:", "# In app browser:")


def is_harness(text: str, *, is_surely_said: bool = False) -> bool:
    """Whether a message in the user's place is the harness's. Where the file says that the user said it, only
    what is never a user's counts."""
    if _HARNESS.match(text):
        return True
    if is_surely_said:
        return False
    if _PROJECT_TEXT.match(text) or text.lstrip().startswith("<INSTRUCTIONS>"):
        return True
    tag = _TAGGED.match(text)
    return tag is not None and text.rstrip().endswith(f"</{tag[1]}>")


def own_words(text: str) -> str:
    """What was asked for, without what an editor put in front of it."""
    if text.startswith(_EDITOR_TEXT):
        _, mark, request = text.partition(_REQUEST_MARK)
        if mark:
            return request.strip()
    return text
