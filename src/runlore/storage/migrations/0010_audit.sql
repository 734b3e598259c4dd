-- Until when a token is good. A rotated one has a new digest; the one before it may be good for a while longer.
ALTER TABLE tokens ADD COLUMN expires_at_ms BIGINT;

ALTER TABLE tokens ADD COLUMN previous_digest TEXT NOT NULL DEFAULT '';

ALTER TABLE tokens ADD COLUMN previous_until_ms BIGINT;

CREATE INDEX tokens_by_previous ON tokens (previous_digest) WHERE previous_digest <> '';

-- What was done with each token, and by whom.
CREATE TABLE token_events (
    token_id TEXT NOT NULL REFERENCES tokens (token_id) DEFERRABLE INITIALLY DEFERRED,
    revision BIGINT NOT NULL,
    act TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (token_id, revision)
) /* clustered */;

INSERT INTO token_events (token_id, revision, act, at_ms, actor)
SELECT token_id, 1, 'create', created_at_ms, created_by FROM tokens;

INSERT INTO token_events (token_id, revision, act, at_ms, actor)
SELECT token_id, 2, 'revoke', revoked_at_ms, '' FROM tokens WHERE revoked_at_ms IS NOT NULL;

-- The audit feed walks these in their order.
CREATE INDEX record_events_by_time ON record_events (at_ms, record_id, revision);

CREATE INDEX journal_bindings_by_time ON journal (at_ms, session_id, number) WHERE type = 'binding';
