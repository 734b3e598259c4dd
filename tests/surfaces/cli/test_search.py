"""Search, and the past: what is found, in which order, with which score, and as of when."""

import json
from pathlib import Path

import pytest

from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.reporting import report

PARTS = ["exact", "summary", "metadata", "state", "recency"]


def search(runlore: Runlore, query: str, *more: str) -> list[Json]:
    """What a query finds."""
    return runlore.items("memory", "search", query, *more)


def summaries(records: list[Json]) -> list[str]:
    """The texts, in their order."""
    return [record["summary"] for record in records]


def moment_after(runlore: Runlore, record_id: str) -> str:
    """The time of a record's last event."""
    return str(runlore.items("memory", "history", record_id)[-1]["at"])


@pytest.mark.req("LAY-4", "SUR-8")
def test_a_list_of_what_is_in_use_says_where_something_waits(embedded: Runlore) -> None:
    assert embedded.run("memory", "list").out == "No records match.\n"
    embedded.find("Deploy on friday after the tests")

    waiting = embedded.run("memory", "list", "--layer", "semantic")
    assert "some that wait do: runlore inbox" in waiting.out
    for narrowed in (("--layer", "procedural"), ("--state", "tombstoned"), ("--as-of", "2020-01-01")):
        assert embedded.run("memory", "list", *narrowed).out == "No records match.\n"


@pytest.mark.req("RET-4", "SUR-8")
def test_by_default_the_active_records_that_a_person_stored_are_searched(runlore: Runlore) -> None:
    preference = runlore.prefer("deploy day", "friday")
    fact = runlore.learn("The deploy runs on friday evenings")
    procedure = runlore.adopt("Deploy on friday after the tests", "deploy")
    failure = runlore.json("memory", "episode", "add", "The friday deploy failed", "--kind", "failure")
    runlore.json("session", "create", "--id", "talk")
    report(runlore, "run-1", "We deploy on friday")
    runlore.find("Some deploy on friday, others do not")
    runlore.json("memory", "rollback", runlore.prefer("deploy window", "friday night"))

    found = {record["record_id"] for record in search(runlore, "deploy friday")}

    assert found >= {preference, fact, procedure, failure["record_id"]}
    assert {record["layer"] for record in search(runlore, "deploy friday")} == {
        *("profile", "semantic", "procedural", "episodic")
    }
    assert not any(record["kind"] == "run" for record in search(runlore, "deploy friday"))
    assert any(record["kind"] == "run" for record in search(runlore, "deploy friday", "--layer", "episodic"))
    assert {record["state"] for record in search(runlore, "deploy friday")} == {"active"}


@pytest.mark.req("RET-4")
def test_a_search_narrows_by_layer_kind_scope_and_state(runlore: Runlore) -> None:
    here = runlore.prefer("deploy day", "friday", "--scope", "project:acme")
    runlore.prefer("deploy day", "friday")
    waiting = runlore.propose("deploy hour", "friday noon")
    episode = runlore.json("memory", "episode", "add", "The friday deploy failed", "--kind", "failure")[
        "record_id"
    ]

    def found(*more: str) -> list[str]:
        return [record["record_id"] for record in search(runlore, "friday", *more)]

    assert found("--scope", "project:acme") == [here]
    assert found("--layer", "episodic") == [episode]
    assert found("--kind", "failure") == [episode]
    assert found("--state", "constrained") == [waiting]
    assert found("--layer", "semantic") == []


@pytest.mark.req("RET-2", "RET-4")
def test_the_parts_of_a_score_add_up_to_it(runlore: Runlore) -> None:
    runlore.prefer("deploy day", "friday")
    runlore.learn("The deploy runs on friday", "--topic-tag", "deploy")

    hits = search(runlore, "deploy on friday")

    assert hits == sorted(hits, key=lambda hit: -hit["score"])
    for hit in hits:
        assert list(hit["score_parts"]) == PARTS
        assert sum(hit["score_parts"].values()) == hit["score"] > 0
    header, *rows = runlore.text("memory", "search", "deploy on friday", "--explain").splitlines()
    assert header.split() == ["ID", "SCORE", "LAYER", "STATE", "SUMMARY", "PARTS"]
    for row, hit in zip(rows, hits, strict=True):
        assert row.split()[:2] == [hit["record_id"], str(hit["score"])]
        named = {name: value for name, value in hit["score_parts"].items() if value}
        assert " + ".join(f"{name} {value}" for name, value in named.items()) in row


@pytest.mark.req("RET-2")
def test_the_whole_text_as_a_query_comes_first(runlore: Runlore) -> None:
    runlore.learn("Deploy deploy deploy window window", "--topic-tag", "deploy", "--topic-tag", "window")
    exact = runlore.learn("The deploy window")

    first, *_ = search(runlore, "  the DEPLOY window ")

    assert first["record_id"] == exact
    assert first["score_parts"]["exact"] > 0


@pytest.mark.req("RET-2", "RET-4")
def test_stale_records_are_found_only_when_asked_for_and_below_active_ones(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim")
    new = runlore.prefer("editor", "helix")

    assert [hit["record_id"] for hit in search(runlore, "editor")] == [new]
    assert [hit["record_id"] for hit in search(runlore, "editor", "--include-stale")] == [new, old]
    assert [hit["record_id"] for hit in search(runlore, "editor", "--state", "superseded")] == [old]


NO_WORD = "the query has no word to look for"


@pytest.mark.req("RET-2")
def test_what_matches_nothing_is_not_returned(runlore: Runlore) -> None:
    runlore.prefer("editor", "vim")

    assert search(runlore, "kubernetes") == []
    assert runlore.text("memory", "search", "kubernetes").splitlines() == [
        "Nothing matches.",
        "What Runlore itself wrote of runs was not searched: it is in the layer episodic.",
    ]
    assert runlore.text("memory", "search", "kubernetes", "--layer", "profile") == "Nothing matches.\n"


@pytest.mark.req("RET-4", "RET-6", "SKL-10")
def test_a_query_of_stop_words_alone_says_why_it_finds_nothing(embedded: Runlore) -> None:
    embedded.learn("To be or not to be is the question")

    embedded.json("session", "create", "--id", "talk")
    asking = (("memory", "search"), ("memory", "context"), ("session", "search", "talk"), ("skill", "match"))
    for words in asking:
        for query in ("to be or not to", "???"):
            told = embedded.json(*words, query)
            shown = embedded.run(*words, query)
            assert not [*told.get("items", ()), *told.get("results", ())]
            assert NO_WORD in str(told["remark"]), (words, query)
            assert NO_WORD in f"{shown.out}{shown.err}".lower(), (words, query)
        assert not embedded.json(*words, "kubernetes")["remark"], words


@pytest.mark.req("RET-3")
def test_a_word_does_not_match_inside_another(runlore: Runlore) -> None:
    runlore.learn("The category page is slow")
    cat = runlore.learn("The cat sleeps on the server")

    assert [hit["record_id"] for hit in search(runlore, "cat")] == [cat]
    assert search(runlore, "go") == []


@pytest.mark.req("RET-3")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("部署只在星期五进行", "星期五部署"),
        ("デプロイは金曜日だけです", "金曜日"),
        ("การปรับใช้ทำเฉพาะวันศุกร์", "วันศุกร์"),
        ("Bereitstellung läuft FREITAGS", "freitags"),
        ("Ｄｅｐｌｏｙ ｆｒｉｄａｙ", "deploy friday"),
    ],
)
def test_a_query_in_any_script_finds_a_record_in_it(text: str, query: str, runlore: Runlore) -> None:
    record_id = runlore.prefer("note", text)
    runlore.prefer("shell", "fish")

    assert [hit["record_id"] for hit in search(runlore, query)] == [record_id]


@pytest.mark.req("RET-4")
def test_twelve_are_found_unless_more_are_asked_for(runlore: Runlore, tmp_path: Path) -> None:
    file = tmp_path / "findings.json"
    source = {"repo_slug": "a/b", "source_handle": "h", "source_url": "https://u"}
    file.write_text(json.dumps([{**source, "summary": f"Deploy note {n}"} for n in range(60)]))
    runlore.json("memory", "radar", "add", "--file", str(file))

    def count(*more: str) -> int:
        return len(search(runlore, "deploy", "--state", "constrained", *more))

    assert (count(), count("--limit", "1"), count("--limit", "50")) == (12, 1, 50)


@pytest.mark.req("RET-1", "OPS-4")
def test_both_databases_rank_alike(embedded: Runlore, other: Runlore, postgres_database: str) -> None:
    server = Runlore(other.home, postgres_database)
    texts = [
        "Deploy on friday",
        "Friday is the deploy day",
        "Never deploy on a friday night",
        "部署星期五 deploy",
    ]
    for runlore in (embedded, server):
        for text in texts:
            runlore.find(text, "--topic-tag", "deploy")

    def ranked(runlore: Runlore) -> list[tuple[str, dict[str, int]]]:
        hits = search(runlore, "deploy on friday 星期五", "--state", "constrained")
        return [(hit["summary"], {**hit["score_parts"], "recency": 0}) for hit in hits]

    assert ranked(embedded) == ranked(server)
    assert len(ranked(server)) == len(texts)


@pytest.mark.req("REC-9")
def test_lists_searches_and_records_can_be_asked_for_as_of_a_past_time(runlore: Runlore) -> None:
    old = runlore.prefer("editor", "vim")
    then = moment_after(runlore, old)
    new = runlore.prefer("editor", "helix")
    runlore.json("memory", "rollback", new)

    assert summaries(runlore.items("memory", "list", "--as-of", then)) == ["editor: vim"]
    assert summaries(search(runlore, "editor", "--as-of", then)) == ["editor: vim"]
    past = runlore.inspect(old, "--as-of", then)
    assert (past["state"], past["revision"], past["superseded_by"]) == ("active", 2, None)
    assert runlore.items("memory", "list") == []
    assert search(runlore, "editor") == []
    replaced = moment_after(runlore, old)
    assert summaries(runlore.items("memory", "list", "--as-of", replaced)) == ["editor: helix"]
    assert summaries(search(runlore, "editor", "--as-of", replaced)) == ["editor: helix"]
    both = search(runlore, "editor", "--as-of", replaced, "--include-stale")
    assert [(hit["summary"], hit["state"]) for hit in both] == [
        ("editor: helix", "active"),
        ("editor: vim", "superseded"),
    ]


@pytest.mark.req("REC-9")
def test_before_a_record_was_made_it_is_not_found(runlore: Runlore) -> None:
    record_id = runlore.prefer("editor", "vim")

    failure = runlore.fails("memory", "inspect", record_id, "--as-of", "2001-01-01")

    assert (failure.exit_code, failure.code) == (5, "record.not-found")
    assert "2001-01-01T00:00:00.000Z" in failure.problem["detail"]
    assert runlore.items("memory", "list", "--as-of", "2001-01-01") == []
    assert search(runlore, "editor", "--as-of", "2001-01-01") == []


@pytest.mark.req("REC-9", "LRN-11")
def test_in_the_future_what_expires_is_no_longer_there(runlore: Runlore) -> None:
    runlore.prefer("editor", "vim", "--expires-at", "2099-01-01")
    runlore.prefer("shell", "fish")

    assert len(runlore.items("memory", "list", "--as-of", "2098-12-31T23:59:59.999Z")) == 2
    assert summaries(runlore.items("memory", "list", "--as-of", "2099-01-01")) == ["shell: fish"]
    assert search(runlore, "editor", "--as-of", "2099-01-01T00:00:00Z") == []


@pytest.mark.req("REC-9")
def test_what_is_acknowledged_is_seen_by_the_next_read(runlore: Runlore) -> None:
    for number in range(4):
        record_id = runlore.prefer("editor", f"edition {number}")

        assert runlore.items("memory", "list")[0]["record_id"] == record_id
        assert search(runlore, f"edition {number}")[0]["record_id"] == record_id
