"""Daemons that learn are killed and suspended: nothing is lost, nothing is done twice or too late."""

import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from tests.model_server import KEY, KEY_VARIABLE, Received, Reply, hangs, model_server
from tests.stories.learning import SOON_S, Learner, Model, lapse_leases, started
from tests.waiting import until
from tests.world import reading

# Longer than any story: a judge that fails would send what it was asked about to people.
PATIENCE_S = 120
PLACES = (
    "Lisbon",
    "Oslo",
    "Quito",
    "Hanoi",
    "Dakar",
    "Riga",
    "Lima",
    "Bern",
    "Cairo",
    "Perth",
    "Kyoto",
    "Turin",
)
POLICY: Mapping[str, Any] = {
    "mode": "enabled",
    "capture": {
        "semantic_candidates": {"enabled": True, "timeout_s": PATIENCE_S, "max_candidates_per_run": 4}
    },
    "publication": {
        "rules": [
            {"name": "preferences", "kind": "preference", "action": "publish_active"},
            {"name": "facts", "kind": "fact", "action": "publish_provisional"},
            {"name": "decisions", "kind": "decision", "action": "publish_provisional"},
        ],
    },
    "judge": {"enabled": True, "timeout_s": PATIENCE_S},
}
# It changes nothing that becomes of a candidate; what still waits is looked at again.
ANOTHER: Mapping[str, Any] = {**POLICY, "projection": {"max_entries": 11}}
WORDS = {"archive": "manual_review", "rumour": "reject"}


def _judged(content: str) -> str:
    return next((word for part, word in WORDS.items() if part in content), "publish_active")


def _request(place: str) -> str:
    return (
        f"Preference: reports about {place} are short.\nFact: the archive of {place} is full.\n"
        f"The {place} office opens at nine. Please write the report."
    )


FINDS = {
    f"The {place} office": (
        "decision",
        f"The {place} office opens at nine" if number % 2 else f"A rumour of {place}",
    )
    for number, place in enumerate(PLACES)
}


@dataclass
class Moody:
    """A model that answers at once or late, and where it is told to not at all; to one question no more than
    twice, for what was begun too often is given up."""

    model: Model = field(default_factory=lambda: Model(finds=FINDS, judges=_judged))
    chance: random.Random = field(default_factory=lambda: random.Random(11))
    goes_silent: bool = False
    asked: threading.Event = field(default_factory=threading.Event)
    is_silent: threading.Event = field(default_factory=threading.Event)
    hung: Counter[str] = field(default_factory=Counter)

    def __call__(self, received: Received) -> Mapping[str, Any] | Reply:
        """The answer to one question."""
        if self.goes_silent and self.hung[received.text] < 2:
            self.hung[received.text] += 1
            self.goes_silent = False
            self.is_silent.set()
            return hangs()
        self.asked.set()
        threading.Event().wait(self.chance.choice((0.0, self.chance.uniform(0.01, 0.2))))
        return self.model(received)


@pytest.fixture(scope="module", autouse=True)
def _key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(KEY_VARIABLE, KEY)
        yield


@pytest.fixture(scope="module")
def undisturbed(_key: None, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What a daemon learns that nobody disturbs."""
    folder = tmp_path_factory.mktemp("control") / "home"
    with model_server(Model(finds=FINDS, judges=_judged)) as server:
        learner = Learner(Settings(state_root=str(folder)), base_url=server.base_url())
        with started(learner):
            learner.put_policy(ANOTHER)
            for place in PLACES:
                learner.run(place, _request(place), session_id=place)
            learner.wait_until_idle()
            return _learnt(learner)


@pytest.mark.req("CAP-1", "CAP-5", "RUN-10", "POL-6", "POL-10", "OPS-4")
@pytest.mark.parametrize(
    ("engine", "kills"),
    [
        ("sqlite", 3),
        ("postgres", 3),
        pytest.param("sqlite", 13, marks=pytest.mark.soak),
        pytest.param("postgres", 13, marks=pytest.mark.soak),
    ],
)
def test_a_daemon_that_is_killed_at_any_moment_learns_what_an_undisturbed_one_learns(
    engine: str, kills: int, tmp_path: Path, request: pytest.FixtureRequest, undisturbed: list[Any]
) -> None:
    # The last death comes when all runs have ended.
    places = PLACES[: kills - 1]
    url = request.getfixturevalue("postgres_database") if engine == "postgres" else None
    settings = Settings(state_root=str(tmp_path / "home"), database_url=url)
    moody = Moody()
    with model_server(moody) as server:
        learner = Learner(settings, base_url=server.base_url())
        with started(learner):
            learner.put_policy(POLICY)
            _work_while_killed(learner, moody, places)
            learner.wait_until_idle()
            _check(learner, places)
            disturbed = _learnt(learner)
    assert disturbed == [each for each in undisturbed if each[0] in places]


@pytest.mark.req("POL-6", "POL-7", "POL-10", "CAP-5", "OPS-4")
def test_each_candidate_is_reviewed_once_though_one_of_three_daemons_sleeps_while_its_judge_answers(
    tmp_path: Path, postgres_database: str
) -> None:
    late, others = Late(), [Waiting(), Waiting()]
    with model_server(late) as a, model_server(others[0]) as b, model_server(others[1]) as c:
        sleeper, one, two = (
            Learner(
                Settings(state_root=str(tmp_path / name), database_url=postgres_database),
                base_url=server.base_url(),
            )
            for name, server in (("a", a), ("b", b), ("c", c))
        )
        with started(sleeper, one, two):
            one.put_policy(POLICY)
            for place in PLACES[:6]:
                # It goes on waiting after its review: whoever comes late could still decide on it.
                one.run(place, f"Fact: the archive of {place} is full.", session_id=place)
            assert late.asked.wait(SOON_S), "the judge of the one that sleeps was never asked"
            sleeper.daemon.signal(signal.SIGSTOP)
            late.answers.set()
            _let_work(others)
            # All is done but what the sleeper holds.
            until(lambda: [job["state"] for job in two.pressing_jobs()] == ["leased"])
            lapse_leases(two.settings)
            two.wait_until_idle()
            first = _reviews(two)
            assert set(map(_frozen, first.values())) == {_frozen({1: 1})}

            _hold(others)
            late.asked.clear()
            waiting = {item["record_id"] for item in two.candidates() if item["state"] == "constrained"}
            assert two.put_policy(ANOTHER) == 2
            sleeper.daemon.signal(signal.SIGCONT)
            # The one thread that asks models asks again: what it held in its sleep it has let go.
            assert late.asked.wait(SOON_S), "the one that slept does not go on"
            _let_work(others)
            two.wait_until_idle()

            assert _reviews(two) == {
                record_id: {1: 1, 2: 1} if record_id in waiting else {1: 1} for record_id in first
            }
            left = [(item["summary"], item["state"], item["state_reason"]) for item in two.candidates()]
            assert len(waiting) == 2 * 6, f"each run leaves its summary and what it was told, not {left}"
            reasons = {
                item["automation_review"]["judge"]["reason"]
                for item in two.candidates()
                if item["automation_review"]["judge"] is not None
            }
            assert LATE not in reasons
            _check(two, PLACES[:6])


LATE = "I had to think about it"


@dataclass
class Late:
    """The judge of the one that is put to sleep: its first word is another, and comes when it is told to."""

    model: Model = field(default_factory=lambda: Model(finds=FINDS, judges=_judged))
    asked: threading.Event = field(default_factory=threading.Event)
    answers: threading.Event = field(default_factory=threading.Event)

    def __call__(self, received: Received) -> Mapping[str, Any] | Reply:
        """The answer to one question."""
        if "candidate" not in received.document:
            return self.model(received)
        is_first = not self.answers.is_set()
        self.asked.set()
        assert self.answers.wait(SOON_S)
        return {"action": "reject", "reason": LATE} if is_first else self.model(received)


@dataclass
class Waiting:
    """The judge of the others: it answers as long as it is let."""

    model: Model = field(default_factory=lambda: Model(finds=FINDS, judges=_judged))
    works: threading.Event = field(default_factory=threading.Event)

    def __call__(self, received: Received) -> Mapping[str, Any] | Reply:
        """The answer to one question."""
        if "candidate" in received.document:
            assert self.works.wait(SOON_S)
        return self.model(received)


def _let_work(judges: list[Waiting]) -> None:
    for judge in judges:
        judge.works.set()


def _hold(judges: list[Waiting]) -> None:
    for judge in judges:
        judge.works.clear()


def _work_while_killed(learner: Learner, moody: Moody, places: Sequence[str]) -> None:
    """One run after the other, each begun before a death and ended after it.

    Death comes in turn to a process that has just begun, to one whose model says nothing, and to one whose
    model has answered: it writes what follows.
    """
    chance = random.Random(5)
    for number, place in enumerate(places):
        turn = number % 3
        moody.goes_silent = turn == 1
        moody.asked.clear()
        if number:
            learner.finish(places[number - 1])
        learner.open(place, _request(place), session_id=place)
        if number == len(places) // 2:
            learner.put_policy(ANOTHER)
        if turn:
            assert (moody.asked if turn == 2 else moody.is_silent).wait(SOON_S), "nobody asked the model"
            moody.is_silent.clear()
        _die(learner, chance)
    moody.asked.clear()
    learner.finish(places[-1])
    assert moody.asked.wait(SOON_S), "nobody asked the model"
    _die(learner, chance)


def _die(learner: Learner, chance: random.Random) -> None:
    """End a daemon at a moment that is drawn, and start it again when it is missed no longer."""
    threading.Event().wait(chance.uniform(0.0, 0.5))
    learner.daemon.kill()
    lapse_leases(learner.settings)
    learner.daemon.start()


def _learnt(learner: Learner) -> list[Any]:
    """Everything that was ever a candidate, and what became of it."""
    told = (
        "kind",
        "summary",
        "state",
        "state_reason",
        "publish_tier",
        "verification_status",
        "policy_decision",
    )
    found = [
        [item["scope"]["id"], item["source"]["run_id"], *(item[name] for name in told)]
        for item in learner.candidates()
    ]
    return sorted(found, key=repr)


def _reviews(learner: Learner) -> dict[str, Counter[int]]:
    return {item["record_id"]: learner.reviews(item["record_id"]) for item in learner.candidates()}


def _check(learner: Learner, places: Sequence[str]) -> None:
    """One receipt and one summary for each run, and one review of each candidate under each policy."""
    runs = sorted(places)
    with reading(learner.settings) as rows:
        receipts = rows("SELECT run_id, state FROM run_captures ORDER BY run_id")
        memories = rows("SELECT run_id, capture FROM run_pointers ORDER BY run_id")
    assert receipts == memories == [(run, "completed") for run in runs]
    candidates = learner.candidates()
    summaries = [item["source"]["run_id"] for item in candidates if item["kind"] == "run_summary"]
    assert sorted(summaries) == runs
    for item in candidates:
        reviews = learner.reviews(item["record_id"])
        assert reviews, f"nobody reviewed {item['summary']}"
        assert set(reviews.values()) == {1}, (item["summary"], reviews)
        if item["state"] == "constrained":
            assert reviews[2] == 1, f"{item['summary']} was not looked at under the new policy"


def _frozen(counted: Mapping[int, int]) -> frozenset[tuple[int, int]]:
    return frozenset(counted.items())
