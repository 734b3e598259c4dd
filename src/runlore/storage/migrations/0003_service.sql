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

-- Kept answers are pruned by their age, and with what they name.
CREATE INDEX answers_by_time ON answers (at_ms);

CREATE TABLE answer_names (
    name TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    PRIMARY KEY (name, idempotency_key)
) /* clustered */;

CREATE INDEX answer_names_by_key ON answer_names (idempotency_key);
