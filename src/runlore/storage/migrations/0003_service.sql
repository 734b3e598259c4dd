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
