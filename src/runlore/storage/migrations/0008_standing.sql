-- Which records are standing: in every prompt of their scope, whatever the input says.
ALTER TABLE records ADD COLUMN standing BIGINT NOT NULL DEFAULT 0;

CREATE INDEX records_standing ON records (scope_kind, scope_id, created_at_ms, record_id) WHERE standing = 1;
