-- Background work. `fence` goes up with every claim; a write under a lower one is refused.
CREATE TABLE jobs (
    job_id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    due_at_ms BIGINT NOT NULL,
    lease_until_ms BIGINT,
    holder TEXT,
    fence BIGINT NOT NULL,
    error TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    UNIQUE (subject, kind)
) /* clustered */;

-- Whoever claims walks this in its order: only what others hold stands in front of what is due.
CREATE INDEX jobs_due ON jobs (due_at_ms, job_id) WHERE state <> 'dead';

CREATE TABLE policies (
    name TEXT NOT NULL,
    revision BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (name, revision)
) /* clustered */;

-- Who may call. Of a token's secret only a digest is kept. `scopes` is a JSON list, or NULL without a limit.
CREATE TABLE tokens (
    token_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    scopes TEXT,
    digest TEXT NOT NULL UNIQUE,
    created_at_ms BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    revoked_at_ms BIGINT
) /* clustered */;

-- Totals that survive restarts.
CREATE TABLE counters (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
) /* clustered */;

CREATE TABLE switches (
    name TEXT NOT NULL PRIMARY KEY,
    is_on BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL
) /* clustered */;

CREATE TABLE notes (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
) /* clustered */;

-- How much models were used, by purpose and day (UTC).
CREATE TABLE model_use (
    purpose TEXT NOT NULL,
    day TEXT NOT NULL,
    calls BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_micro_usd BIGINT NOT NULL,
    PRIMARY KEY (purpose, day)
) /* clustered */;

CREATE INDEX model_use_by_day ON model_use (day, purpose);

-- What the detectors see of runs, derived from their journals: the text at `text_revision`. `number` is that of
-- the run's first event in its session.
CREATE TABLE mined_runs (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (run_id) DEFERRABLE INITIALLY DEFERRED,
    session_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    text_revision BIGINT
) /* clustered */;

CREATE INDEX mined_runs_by_session ON mined_runs (session_id, number, run_id);

-- Suggested skills, one for each pattern. `name` and `pattern` are digests: what a suggestion says is the text at
-- `text_revision`.
CREATE TABLE suggestions (
    suggestion_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    pattern TEXT NOT NULL UNIQUE,
    heuristic TEXT NOT NULL,
    state TEXT NOT NULL,
    state_actor TEXT NOT NULL,
    score BIGINT NOT NULL,
    skipped_at_ms BIGINT,
    times_skipped BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE INDEX suggestions_by_score ON suggestions (state, score, suggestion_id, heuristic);

-- The runs that any of a suggestion was ever seen in, so that forgetting one finds it.
CREATE TABLE suggestion_runs (
    run_id TEXT NOT NULL,
    suggestion_id TEXT NOT NULL REFERENCES suggestions (suggestion_id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (run_id, suggestion_id)
) /* clustered */;

CREATE INDEX suggestion_runs_by_suggestion ON suggestion_runs (suggestion_id, run_id);

-- Skills, whatever became of them. `name` is a digest: what a skill says is the text at `text_revision`. How often
-- it was used is counted here, and not a change of it.
CREATE TABLE skills (
    skill_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,
    state TEXT NOT NULL,
    state_actor TEXT NOT NULL,
    merged_into TEXT,
    suggestion_id TEXT,
    source_run_id TEXT,
    times_used BIGINT NOT NULL,
    last_used_at_ms BIGINT,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE UNIQUE INDEX skills_by_name ON skills (name) WHERE state = 'active';

-- The suggestions whose words stand in a skill, so that forgetting finds it.
CREATE TABLE skill_suggestions (
    suggestion_id TEXT NOT NULL,
    skill_id TEXT NOT NULL REFERENCES skills (skill_id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (suggestion_id, skill_id)
) /* clustered */;

CREATE INDEX skill_suggestions_by_skill ON skill_suggestions (skill_id, suggestion_id);

CREATE TABLE skill_uses (
    run_id TEXT NOT NULL,
    skill_id TEXT NOT NULL REFERENCES skills (skill_id) DEFERRABLE INITIALLY DEFERRED,
    at_ms BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (run_id, skill_id)
) /* clustered */;

CREATE INDEX skill_uses_by_skill ON skill_uses (skill_id, run_id);

-- The log of skills. Its names and reasons are the text at `text_revision`.
CREATE TABLE skill_events (
    number BIGINT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    skill_id TEXT,
    suggestion_id TEXT,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE INDEX skill_events_by_skill ON skill_events (skill_id, number);

CREATE INDEX skill_events_by_suggestion ON skill_events (suggestion_id, number);

-- One row: `stamp` is another one after each change of a skill, `event` the number of the latest line of the log.
CREATE TABLE skill_numbers (
    name TEXT NOT NULL PRIMARY KEY,
    stamp BIGINT NOT NULL,
    event BIGINT NOT NULL
) /* clustered */;

-- What curation did, and the skills as they were before it: the text at `text_revision`.
CREATE TABLE curations (
    curation_id TEXT NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    undone_at_ms BIGINT,
    undone_by TEXT NOT NULL,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE INDEX curations_by_time ON curations (at_ms, curation_id);

CREATE TABLE curation_skills (
    skill_id TEXT NOT NULL,
    curation_id TEXT NOT NULL REFERENCES curations (curation_id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (skill_id, curation_id)
) /* clustered */;

CREATE INDEX curation_skills_by_curation ON curation_skills (curation_id, skill_id);

-- How far transcripts have been read. `source` is a digest of where one lies. The position is the text at
-- `text_revision`.
CREATE TABLE transcript_positions (
    source TEXT NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    text_revision BIGINT
) /* clustered */;

-- The sessions that a transcript tells of: the main one, those that it was resumed from, its subagents'.
CREATE TABLE transcript_sessions (
    session_id TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (session_id, source)
) /* clustered */;

CREATE INDEX transcript_sessions_by_source ON transcript_sessions (source);

-- Which session's agent began which, so that forgetting one takes its subagents' along. Either may be missing.
CREATE TABLE session_parents (
    session_id TEXT NOT NULL PRIMARY KEY,
    parent_id TEXT NOT NULL
) /* clustered */;

CREATE INDEX session_parents_by_parent ON session_parents (parent_id, session_id);

-- Kept answers are pruned by their age, and with what they name.
CREATE INDEX answers_by_time ON answers (at_ms);

CREATE TABLE answer_names (
    name TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    PRIMARY KEY (name, idempotency_key)
) /* clustered */;

CREATE INDEX answer_names_by_key ON answer_names (idempotency_key);
