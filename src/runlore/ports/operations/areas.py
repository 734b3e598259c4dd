"""Where operations and their values are declared: an area is loaded with the first of them that is asked for.

A test compares the tables with the areas. An operation that stands in no row is found too, in all areas.
"""

from importlib import import_module
from types import ModuleType

# The operations of each area, in the order of the API's document.
OPERATIONS_OF = {
    "sessions": (
        "create_session change_session get_session list_sessions put_folder get_folder put_persona "
        "get_persona list_personas open_run get_run list_runs append_events add_checkpoint add_scratch "
        "list_scratch add_artifact get_artifact list_artifacts finish_run journal"
    ),
    "agent": "start_input follow_run cancel_run list_approvals get_approval decide_approval",
    "records": "list_records get_record history search goal_context states propose_profile add_episode",
    "review": "inbox review_list confirm reject rollback restore compact dedup forget",
    "learning": (
        "create_candidate list_candidates get_candidate publish list_learnings get_learning revoke "
        "revoke_matching supersede verify feedback test_policy backfill_capture delete_run_memories work_jobs"
    ),
    "library": (
        "save_skill import_skill list_skills get_skill accept_skill delete_skill restore_skill "
        "settle_skill_file match_skills session_skills use_skill curate_skills undo_curation list_curations "
        "reset_skips note_mounts skill_log"
    ),
    "projection": "memory_context session_search preview_input receipt",
    "radar": "radar_add radar_adopt radar_undo radar_log",
    "rollouts": (
        "promote_learning list_promoted get_promoted promoted_history try_promoted record_result "
        "advance_promoted revoke_promoted rollback_promoted"
    ),
    "service": (
        "get_policy put_policy policy_history rollback_policy create_token list_tokens revoke_token "
        "pause_capture resume_capture capture_status list_jobs retry_job export import_records backup "
        "restore_backup doctor status"
    ),
    "hooks": "report_hook",
    "skills": (
        "import_runs transcript_positions suggest plan_reading read_sessions list_suggestions get_suggestion "
        "skip_suggestion reset_suggestion"
    ),
}
# The requests, answers and protocols of each.
VALUES_OF = {
    "sessions": (
        "Appended ArtifactPage FolderChange JournalPage JournalRequest NewArtifact NewCheckpoint NewEvents "
        "NewRun NewScratch NewSession PageRequest PersonaChange PersonaPage RunEnd RunPage RunView "
        "RunsRequest SessionChange SessionOperations SessionPage UNSET Unset UnsetType"
    ),
    "agent": (
        "AgentOperations ApprovalDecision ApprovalPage ApprovalsRequest DetectedPattern FollowRun NewInput "
        "PatternOutcome RunEnded RunEvent RunEventKind"
    ),
    "records": (
        "Episode Filters GoalContext GoalRequest ListRequest Page ProfileProposal RecordOperations SearchHit "
        "SearchHits SearchRequest"
    ),
    "review": (
        "Decision ForgetAnswer InUse InboxAct InboxItem InboxKind InboxPage InboxRequest MergeItem "
        "MergeRequest ReviewItem ReviewOperations ReviewPage ReviewRequest RollbackAnswer"
    ),
    "learning": (
        "BackfillAnswer BackfillRequest CandidateRequest DeletedRunMemories FeedbackNote FeedbackVerdict "
        "LearningFilters LearningOperations LearningRequest MatchingRevocation NewCandidate Outlook "
        "PolicyTrial Publication Revoked RunMemoryDeletion Supersession TrialAnswer TrialRow VerifyRequest "
        "WorkAnswer"
    ),
    "library": (
        "AcceptSkill CurateAnswer CurateRequest FittingSkill FittingSkills ImportSkill Keep "
        "LibraryOperations MachineMounts MatchRequest SaveSkill SettleFile SkillFit SkillLog SkillLogRequest "
        "SkillPage SkillsRequest UseSkill"
    ),
    "projection": (
        "ContextRequest LearnedContext MemoryContext PreviewRequest ProjectionOperations ReceiptView "
        "RecoveredMemory SessionHit SessionSearch SessionSearchRequest"
    ),
    "radar": "AdoptRequest Adoption Findings RadarLog RadarOperations",
    "rollouts": (
        "AdvanceRequest PromoteLearning PromotedHistory PromotedHistoryRequest PromotedPage PromotedRequest "
        "PromotedSnapshot RevokePromoted RevokedSkill RolloutOperations RolloutResult TrialRequest"
    ),
    "service": (
        "BackupAnswer CaptureStatus Diagnosis ExportAnswer Finding ImportAnswer MadeToken NewToken "
        "PolicyChange PolicyRollback ServiceOperations Status"
    ),
    "hooks": "HookAnswer HookEvent HookOperations",
    "skills": (
        "ImportedRuns ReadingPlan ReadingPlanRequest ReadingStep RunsToImport SkillOperations "
        "SuggestAnswer SuggestRequest SuggestionPage SuggestionsRequest"
    ),
    "operations": "Operations",
    "progress": "Progress ignore_progress",
    "declaration": "OPERATIONS",
}
AREA_OF_OPERATION = {name: area for area, names in OPERATIONS_OF.items() for name in names.split()}
AREA_OF_VALUE = {name: area for area, names in VALUES_OF.items() for name in names.split()}


def load_area(area: str) -> ModuleType:
    return import_module(f"runlore.ports.operations.{area}")
