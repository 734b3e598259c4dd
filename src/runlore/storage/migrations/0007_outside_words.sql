-- What runs read from outside, as hashes of its words, and where and when each was read.
CREATE TABLE outside_sources (
    source_key BIGINT NOT NULL PRIMARY KEY,
    run_id TEXT NOT NULL,
    source TEXT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    words BIGINT NOT NULL
) /* clustered */;

CREATE INDEX outside_sources_by_time ON outside_sources (seen_at_ms, source_key);

CREATE INDEX outside_sources_by_run ON outside_sources (run_id);

CREATE TABLE outside_words (
    fingerprint BIGINT NOT NULL,
    source_key BIGINT NOT NULL,
    PRIMARY KEY (fingerprint, source_key)
) /* clustered */;

CREATE INDEX outside_words_by_source ON outside_words (source_key);
