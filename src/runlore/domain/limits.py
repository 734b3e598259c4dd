"""Every limit in one place, with its unit in its name."""

SUMMARY_CHARS_MAX = 1_600
CONFIDENCE_DEFAULT = 80
CONFIDENCE_MAX = 100

ID_CHARS_MAX = 200
REASON_CHARS_MAX = 1_000
PROFILE_KEY_CHARS_MAX = 200
SEMANTIC_KEY_CHARS_MAX = 1_000
METADATA_BYTES_MAX = 32_768
METADATA_DEPTH_MAX = 6
EVIDENCE_REFS_MAX = 64
BOTH_HOLD_MAX = 64
TAINT_SOURCES_MAX = 64
TAINT_SOURCE_CHARS_MAX = 4_000
# How many fingerprints of words from outside are kept, and for how long.
OUTSIDE_WORDS_MAX = 500_000
OUTSIDE_WORDS_DAYS = 365

QUERY_CHARS_MAX = 4_000
SEARCH_LIMIT_DEFAULT = 12
SEARCH_LIMIT_MAX = 50
LIST_LIMIT_DEFAULT = 50
LIST_LIMIT_MAX = 500

REVIEW_RIVALS_MAX = 10_000
# Of how many candidates on one subject it is looked whether one says the same.
SAME_SUBJECT_MAX = 200
REVALIDATIONS_LISTED_MAX = 100
# Of how many waiting records on a subject that is in use it is looked whether they contradict it.
CONTESTED_LISTED_MAX = 1_000
COMPACTION_SOURCES_MAX = 50
RADAR_FINDINGS_MAX = 1_000
IMPORT_BYTES_MAX = 4 * 1024**3
IMPORT_LINE_BYTES_MAX = 16 * 1024**2
IMPORT_WHOLE_BYTES_MAX = 256 * 1024**2

LOCK_WAIT_S = 5.0
# How long the secret that a token had before its rotation can still be good.
TOKEN_GRACE_S_MAX = 30 * 24 * 3_600
# How late behind its time an act may be committed, and be told to who follows the audit feed.
AUDIT_LATE_S = 60

PREVIEW_CHARS_MAX = 160
RUN_SUMMARY_CHARS_MAX = 480
RUN_MEMORY_BYTES_MAX = 512 * 1024
SEARCH_EXCERPT_CHARS_MAX = 180
# Rules of one scope that can stand at once: every prompt of it reads them all.
STANDING_RULES_MAX = 256

MOUNTING_MACHINES_MAX = 200
MOUNT_FOLDERS_MAX = 100
SESSION_PROJECTS_MAX = 64
TITLE_CHARS_MAX = 200
MODEL_CHARS_MAX = 200
PATH_CHARS_MAX = 4_000
REQUEST_CHARS_MAX = 1_000_000
ERROR_CHARS_MAX = 20_000
EVENT_BYTES_MAX = 4 * 1024**2
EVENT_DEPTH_MAX = 64
EVENTS_PER_CALL_MAX = 1_000
ARTIFACT_BYTES_MAX = 8 * 1024**2
# How much of a request or an artifact a list tells.
LISTED_CHARS_MAX = 480
RUN_ARTIFACTS_MAX = 200
# Calls that one daemon works at once, and with those that wait; how long one waits for its turn.
CALLS_WORKED_MAX = 32
CALLS_AT_ONCE_MAX = 200
CALL_WAIT_S = 10.0
BODY_BYTES_MAX = 2 * 1024**2
# What another protocol reads on the loop that answers everybody, such as /mcp.
MOUNTED_BODY_BYTES_MAX = 256 * 1024
# What is read of a caller who has shown no token yet: a login, a probe.
OPEN_BODY_BYTES_MAX = 4 * 1024
# Of a call that takes whole runs, requests or artifacts.
LARGE_BODY_BYTES_MAX = 16 * 1024**2
# So many bytes of what a body may have allow one value in it, of whatever kind, all levels together.
BODY_BYTES_A_VALUE = 80
JOURNAL_PAGE_DEFAULT = 100
JOURNAL_PAGE_BYTES_MAX = 8 * 1024**2

HIDDEN_LISTED_MAX = 100
CONTEXT_PER_LAYER_MAX = 8
DIAGNOSTICS_MAX = 32
PRIVATE_RUNS_MAX = 10_000

# The largest text that is stored, escaped twice.
BACKUP_LINE_BYTES_MAX = 128 * 1024**2

POLICY_RULES_MAX = 200
RULE_NAME_CHARS_MAX = 100
REVIEW_REASON_CHARS_MAX = 400
# How much of one text is searched for support.
SUPPORT_CHARS_MAX = 200_000

# How much of a request and of an outcome a model is shown, and how many of its statements are looked at.
EXTRACTION_REQUEST_CHARS_MAX = 12_000
EXTRACTION_OUTCOME_CHARS_MAX = 8_000
EXTRACTION_ITEMS_MAX = 64
REMEMBERED_PER_RUN_MAX = 8
# How many statements of one run are proposed; how many of the latest messages are looked through for wishes
# that come back, how long after a run, and how many of them are written at once.
OWN_WORDS_PER_RUN_MAX = 20
RECURRING_MESSAGES_MAX = 4_000
RECURRING_AFTER_S = 60
RECURRING_WISHES_MAX = 100
RUN_SUMMARY_DAYS = 30

JOB_ATTEMPTS_MAX = 8
JOB_BACKOFF_S_MAX = 600
JOB_POSTPONED_S_MAX = 60
JOB_LEASE_S = 30
# No job is postponed, and nothing is leased, for longer: what says so was written by a clock that was ahead.
JOB_DUE_S_MAX = 2 * 86_400
JOB_LEASE_S_MAX = 3_600
# How many more than at its least may wait to be looked at before whoever ends a run waits, and for how long.
BACKLOG_GROWTH_MAX = 64
BACKLOG_WAIT_S = 0.5
PROCESS_LEASE_S = 30
PROCESS_LEASE_S_MAX = 3_600
PROCESS_HEARTBEAT_S = 5

MODEL_QUESTION_BYTES_MAX = 1024**2
MODEL_ANSWER_BYTES_MAX = 1024**2
# A program that is asked takes so long to start; less than a job is held beyond the time of its question.
MODEL_PROGRAM_START_S = 20
MODEL_OUTPUT_TOKENS_MAX = 8_192
MODEL_RETRY_AFTER_S_MAX = 86_400
# A turn of a conversation: all that is sent, the stream as it comes, and what is in it.
CHAT_REQUEST_BYTES_MAX = 16 * 1024**2
CHAT_STREAM_BYTES_MAX = 16 * 1024**2
CHAT_TEXT_BYTES_MAX = 1024**2
CHAT_ARGUMENTS_BYTES_MAX = 1024**2
CHAT_ARGUMENTS_DEPTH_MAX = 32
CHAT_CALLS_MAX = 64
CHAT_CALL_ID_CHARS_MAX = 64
CHAT_TOOL_NAME_CHARS_MAX = 64
# More than any answer can honestly have taken; what a server claims beyond it is not believed.
MODEL_USAGE_TOKENS_MAX = 100_000_000

# Of a longer text the beginning is embedded; few models read on.
EMBEDDING_TEXT_CHARS_MAX = 8_000
EMBEDDING_BATCH_TEXTS = 64
EMBEDDING_DIMENSIONS_MAX = 8_192
EMBEDDING_ANSWER_BYTES_MAX = 32 * 1024**2
EMBEDDING_TIMEOUT_S_MAX = 600
# A skill is chosen on every turn, so that nobody waits longer for its vector unless it is asked for.
EMBEDDING_TURN_TIMEOUT_S = 2.0

# What is kept of a transcript: the beginning and the end of a long text, and no line beyond a size.
TOLD_TEXT_CHARS_MAX = 32_000
# Files below one address that transcripts are read from.
REMOTE_FILES_MAX = 200_000
TRANSCRIPT_LINE_BYTES_MAX = 16 * 1024**2
TRANSCRIPT_DOCUMENT_BYTES_MAX = 64 * 1024**2
# A value of JSON takes many times its length in memory where it is all brackets and commas.
TRANSCRIPT_LINE_MARKS_MAX = 1_000_000
TRANSCRIPT_DOCUMENT_MARKS_MAX = 4_000_000
# What is unpacked of one archive, and how many times the archive's own size where that is much.
UNPACKED_BYTES_MAX = 4 * 1024**3
UNPACKED_RATIO_MAX = 100
UNPACKED_RATIO_FROM_BYTES = 16 * 1024**2
# What is read of a database of sessions, and for how long.
DATABASE_SESSIONS_MAX = 20_000
DATABASE_SESSION_BYTES_MAX = 256 * 1024**2
DATABASE_READING_S_MAX = 60
# What a reader keeps to go on from a position.
POSITION_CARRIED_MAX = 4_000
POSITION_TEXT_CHARS_MAX = 32_000
# How much of one run is kept; the transcript's own counts say what is beyond it.
TOLD_RUN_EVENTS_MAX = 5_000
# In bytes as they are sent, so that one run with all that goes along fits into one body.
TOLD_RUN_BYTES_MAX = 12 * 1024**2
# What the detectors see of a run, and of a session.
STEP_TEXT_CHARS_MAX = 2_000
STEP_ERROR_CHARS_MAX = 200
RUN_STEPS_MAX = 500
SESSION_RUNS_MINED_MAX = 200
# How many sessions of subagents are forgotten at once with the one that began them, and how deep they go.
SESSION_FAMILY_MAX = 2_000
SESSION_GENERATIONS_MAX = 64
SUGGESTION_EVIDENCE_MAX = 20
# In so many sessions a workflow or a finding has to be seen, or in so many runs of one, to be proposed; an
# outcome has to be told as often as that.
REPEATED_SESSIONS_MIN = 2
REPEATED_RUNS_MIN = 3
# How many of the latest runs are looked at for one that did the same.
EQUAL_RUNS_LOOKED_AT_MAX = 100
SUGGESTIONS_PER_RUN_MAX = 5
# A suggested skill: its name and description as the Agent Skills specification bounds them.
SKILL_NAME_CHARS_MAX = 64
SKILL_DESCRIPTION_CHARS_MAX = 1_024
SKILL_BODY_LINES_MAX = 500
SKILL_BODY_CHARS_MAX = 64_000
SKILL_COMPATIBILITY_CHARS_MAX = 500
# What else stands in a skill's front matter: short fields, trigger words, and all metadata together.
SKILL_FIELD_CHARS_MAX = 1_000
SKILL_WORDS_MAX = 64
SKILL_WORD_CHARS_MAX = 64
SKILL_METADATA_KEYS_MAX = 64
SKILL_METADATA_KEY_CHARS_MAX = 64
SKILL_METADATA_CHARS_MAX = 4_000
# How much of its sources a skill's file names; the store has them all.
SKILL_FILE_SOURCES_CHARS_MAX = 4_000
# Room for all of the above with every character written as a code, and for the body.
SKILL_FRONT_BYTES_MAX = 256 * 1024
SKILL_FILE_BYTES_MAX = 640 * 1024
SKILL_FRONT_DEPTH_MAX = 16
SKILL_FRONT_NODES_MAX = 4_000
# What is read of a folder of skills.
SKILL_FOLDERS_MAX = 20_000
SKILL_FOLDERS_BYTES_MAX = 512 * 1024**2
SUGGESTION_COMMANDS_MAX = 20
SUGGESTION_PATTERN_CHARS_MAX = 20_000
SUGGESTION_VARIANTS_MAX = 400
PARAMETERS_MAX = 20
PARAMETER_EXAMPLES_MAX = 5
PARAMETER_EXAMPLE_CHARS_MAX = 120

# Runlore's own agent: calls of one turn, the same call over and over, answers that were cut in a row.
AGENT_CALLS_PER_TURN_MAX = 32
AGENT_REPEATS_REMARKED = 5
AGENT_REPEATS_MAX = 8
AGENT_CUTS_MAX = 4
# Waits for a model that fails for a moment: how often in the midst of a task, how often where little would be
# lost or another model can go on, the first of them (each is three times the one before), and the longest.
AGENT_WAITS_PER_TURN_MAX = 5
AGENT_WAITS_AT_FIRST_MAX = 2
AGENT_FIRST_WAIT_S = 2.0
AGENT_WAIT_S_MAX = 60.0
# What is kept of a text when the conversation has grown too long for its model.
AGENT_OUTPUT_KEPT_CHARS = 800
AGENT_COMMAND_CHARS_MAX = 32_000
AGENT_FILE_CHARS_MAX = 1_000_000
AGENT_QUESTION_CHARS_MAX = 4_000
AGENT_ANSWER_CHARS_MAX = 20_000
# How many runs one process works at once, and what each is told of its session's earlier inputs.
AGENT_RUNS_AT_ONCE_MAX = 8
AGENT_HISTORY_RUNS_MAX = 20
AGENT_HISTORY_TOKENS_MAX = 16_000
AGENT_HISTORY_TEXT_CHARS_MAX = 8_000
# What of a call is shown to whoever decides on it.
APPROVAL_TEXT_CHARS_MAX = 40_000
# What is kept of a run while it goes on, for whoever follows it.
LIVE_EVENTS_MAX = 5_000
LIVE_CHARS_MAX = 1_000_000
LIVE_ENDED_MAX = 16
LIVE_OUTPUT_CHARS_MAX = 200_000
# Settings of the agent, from the least to the most that can be set.
AGENT_TURNS_MAX = 1_000
AGENT_SECONDS_MAX = 86_400
AGENT_OUTPUT_CHARS_MIN = 1_000
AGENT_OUTPUT_CHARS_MAX = 200_000
AGENT_FOLDERS_MAX = 64
APPROVAL_PATTERNS_MAX = 500
APPROVAL_PATTERN_CHARS_MAX = 500
# A promoted skill: how much happens to one, whom a canary is shown to by name, and how it is run.
PROMOTED_EVENTS_MAX = 300
PROMOTED_SESSIONS_MAX = 200
PROMOTED_TOOLS_MAX = 64
PROMOTED_ARGUMENTS_CHARS_MAX = 4_096
CHILD_DIFF_CHARS_MAX = 1_000_000
MARKER_CHARS_MIN = 3
MARKER_CHARS_MAX = 200
# How many run memories one act deletes for good: a transaction that others can wait for.
RUN_MEMORIES_DELETED_MAX = 10_000
# What an agent's tools read and write at once: a file, what is shown of it, and the names in a folder.
WORKSPACE_FILE_BYTES_MAX = 4 * 1024**2
WORKSPACE_READ_CHARS_MAX = 200_000
WORKSPACE_NAMES_MAX = 2_000
# The system takes no longer argument of a program.
# What is looked at around each command for files that other programs obey.
OBEYED_NAMES_MAX = 1_000_000
OBEYED_FILES_MAX = 5_000
OBEYED_DEPTH_MAX = 128
OBEYED_BYTES_MAX = 32 * 1024**2
OBEYED_SHOWN_CHARS_MAX = 4_000
SHELL_COMMAND_BYTES_MAX = 100_000
# What is copied for a child agent where the working folder is no repository.
WORKTREE_COPY_FILES_MAX = 20_000
WORKTREE_COPY_BYTES_MAX = 512 * 1024**2
WORKTREE_CALL_ID_CHARS_MAX = 80
WORKTREE_SETUP_S_MAX = 120.0

# The greatest whole number that every reader of JSON tells exactly.
NUMBER_MAX = 2**53
