-- Promoted procedures. `name` is their id, and stays; what one says is the text at `text_revision`, and so is how it
-- stood after each change.
CREATE TABLE promoted_skills (
    name TEXT NOT NULL PRIMARY KEY,
    status TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    source_record_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE INDEX promoted_skills_by_source ON promoted_skills (source_record_id, name);

CREATE INDEX promoted_skills_by_status ON promoted_skills (status, name);

CREATE TABLE promoted_history (
    name TEXT NOT NULL REFERENCES promoted_skills (name) DEFERRABLE INITIALLY DEFERRED,
    number BIGINT NOT NULL,
    status TEXT NOT NULL,
    revision BIGINT NOT NULL,
    text_revision BIGINT NOT NULL,
    PRIMARY KEY (name, number)
) /* clustered */;

-- The runs that executed a promoted skill, at which fingerprint, and which run called them.
CREATE TABLE skill_executions (
    run_id TEXT NOT NULL,
    skill_name TEXT NOT NULL REFERENCES promoted_skills (name) DEFERRABLE INITIALLY DEFERRED,
    fingerprint TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    session_id TEXT,
    calling_run_id TEXT,
    PRIMARY KEY (run_id, skill_name, fingerprint)
) /* clustered */;

CREATE INDEX skill_executions_by_caller ON skill_executions (calling_run_id, skill_name);

CREATE INDEX skill_executions_by_skill ON skill_executions (skill_name, run_id);

-- What runs wait for a person to say. What is asked and what was answered is the text at `text_revision`.
CREATE TABLE approvals (
    approval_id TEXT NOT NULL PRIMARY KEY,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    decided_at_ms BIGINT,
    decided_by TEXT NOT NULL,
    revision BIGINT NOT NULL,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE INDEX approvals_by_time ON approvals (created_at_ms, approval_id);

CREATE INDEX approvals_waiting ON approvals (created_at_ms, approval_id) WHERE state = 'waiting';

CREATE INDEX approvals_by_run ON approvals (run_id, created_at_ms, approval_id);

CREATE INDEX approvals_by_session ON approvals (session_id, created_at_ms, approval_id);
