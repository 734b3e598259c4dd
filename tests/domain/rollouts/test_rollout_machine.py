"""Whatever is done to a promoted skill, in whatever order: what is active was proven, and nothing is lost.

A reference that keeps a plain list of all that ever happened says, by looking through all of it, what each
act has to come to.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from runlore.domain.errors import RunloreError
from runlore.domain.record import PublishTier, State
from runlore.domain.rollouts import (
    Ran,
    Result,
    advance_promoted,
    create_promoted,
    execution_for,
    record_result,
    redefine_promoted,
    revoke_promoted,
    roll_back_promoted,
    unproven_because,
)
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    Definition,
    Execution,
    ExecutionKind,
    PromotedSkill,
    RolloutKind,
    RolloutStatus,
)
from tests.domain.rollouts.rollouts import (
    ACTIVE,
    DRAFT,
    IN_CANARY,
    MARKER,
    REVOKED,
    VERIFIED,
    by,
    learning,
    words,
)
from tests.examples import scaled

WORDS = tuple(words(text) for text in ("One.", "Two."))
SESSIONS = (SessionId("ses_1"), SessionId("ses_2"))
ENDS = (RunStatus.COMPLETED, RunStatus.COMPLETED, RunStatus.FAILED)


@dataclass(frozen=True)
class Seen:
    """One result of the reference."""

    kind: RolloutKind
    run: RunId
    said: Definition
    success: bool
    draft_number: int


@dataclass(frozen=True)
class Trial:
    """A run of the reference that executed the skill."""

    execution: Execution
    ran: Ran
    said: Definition


class Rollouts(RuleBasedStateMachine):
    """Acts in any order; each is compared with what the reference says of it."""

    def __init__(self) -> None:
        super().__init__()
        self.minute = 0
        self.runs: list[Trial] = []
        self.results: list[Seen] = []
        self.was_active: list[Definition] = []
        self.stands = True
        self.draft_number = 1
        self.given_at: datetime = by().at
        self.shown_at: datetime = by().at
        self.history: list[tuple[int, PromotedSkill]] = []

    @initialize(said=st.sampled_from(WORDS))
    def begin(self, said: Definition) -> None:
        """A new draft."""
        self.skill = create_promoted(said, learning(), act=by())
        self.status, self.said = DRAFT, said
        self.seen_by: frozenset[SessionId] = frozenset()
        self.history = [(1, self.skill)]

    @rule(
        kind=st.sampled_from(ExecutionKind),
        session=st.none() | st.sampled_from(SESSIONS),
        how=st.sampled_from(ENDS),
        says=st.booleans(),
    )
    def run(self, kind: ExecutionKind, session: SessionId | None, how: RunStatus, *, says: bool) -> None:
        """A run executes the skill as it is."""
        now = by(self._tick()).at
        run_id = RunId(f"run_{self.minute}")
        execution = Execution(
            run_id=run_id,
            skill_name="release",
            fingerprint=self.skill.fingerprint,
            kind=kind,
            at=now,
            session_id=session,
        )
        output = MARKER if says else "nothing"
        self.runs.append(
            Trial(
                execution,
                Ran(run_id=run_id, status=how, opened_at=now, called_tools=True, output=output),
                self.said,
            )
        )

    @rule(how=st.sampled_from(ENDS), steps=st.integers(1, 6))
    def go_on(self, how: RunStatus, steps: int) -> None:
        """What somebody does who wants it active: chance alone would hardly ever get there."""
        for _ in range(steps):
            if self.status is DRAFT:
                self.run(ExecutionKind.TRIAL, None, RunStatus.COMPLETED, says=True)
                self.record(RolloutKind.VERIFICATION, 0)
                self.advance(VERIFIED, None)
            elif self.status is VERIFIED:
                self.advance(IN_CANARY, SESSIONS[:1])
            elif self.status is IN_CANARY:
                self.run(ExecutionKind.USE, SESSIONS[0], how, says=True)
                self.record(RolloutKind.CANARY, 0)
                self.advance(ACTIVE, None)
            elif self.status is REVOKED:
                self.promote(self.said)

    @rule(kind=st.sampled_from(RolloutKind), pick=st.integers(0, 99))
    def record(self, kind: RolloutKind, pick: int) -> None:
        """The result of one of the runs."""
        if not self.runs:
            return
        trial = self.runs[-1 - pick % min(len(self.runs), 4)]
        asked = Result(kind=kind, run_id=trial.ran.run_id, marker=MARKER)
        act = by(self._tick())

        def recording() -> PromotedSkill:
            chosen = execution_for(self.skill, asked, [trial.execution])
            return record_result(self.skill, asked, execution=chosen, ran=trial.ran, act=act)

        known = [seen for seen in self.results if (seen.run, seen.said) == (trial.ran.run_id, self.said)]
        success = trial.ran.status is RunStatus.COMPLETED and MARKER in trial.ran.output
        if trial.said == self.said and [seen.kind for seen in known] == [kind]:
            assert self._made(recording) is False
        elif known or not self._takes(kind, trial) or not (success or kind is RolloutKind.CANARY):
            assert self._made(recording) is None
        else:
            assert self._made(recording) is True
            self.results.append(Seen(kind, trial.ran.run_id, self.said, success, self.draft_number))

    def _takes(self, kind: RolloutKind, trial: Trial) -> bool:
        if trial.said != self.said or trial.ran.opened_at < self.given_at:
            return False
        if kind is RolloutKind.VERIFICATION:
            return self.status in (DRAFT, VERIFIED, IN_CANARY) and trial.execution.kind is ExecutionKind.TRIAL
        is_seen = trial.execution.session_id in self.seen_by and trial.execution.at >= self.shown_at
        return self.status is IN_CANARY and is_seen

    @rule(said=st.sampled_from(WORDS))
    def promote(self, said: Definition) -> None:
        """Promote once more."""
        act = by(self._tick())
        source = learning() if self.stands else learning(state=State.TOMBSTONED)
        outcome = self._made(lambda: redefine_promoted(self.skill, said, source=source, act=act))
        if not self.stands or (self.status is ACTIVE and said != self.said):
            assert outcome is None
        elif self.status is not REVOKED and said == self.said:
            assert outcome is False
        else:
            assert outcome is True
            self.status, self.said, self.given_at, self.seen_by = DRAFT, said, act.at, frozenset()
            self.draft_number += 1

    @rule(
        to=st.sampled_from((VERIFIED, IN_CANARY, ACTIVE, DRAFT)),
        sessions=st.none() | st.sampled_from([SESSIONS[:1], SESSIONS]),
    )
    def advance(self, to: RolloutStatus, sessions: tuple[SessionId, ...] | None) -> None:
        """Move on, or back."""
        sessions = sessions if to is IN_CANARY else None
        act = by(self._tick())
        expected = self._advances(to, sessions)
        outcome = self._made(lambda: advance_promoted(self.skill, to, act=act, sessions=sessions))
        assert outcome is expected
        if outcome:
            if to is DRAFT:
                self.given_at, self.draft_number = act.at, self.draft_number + 1
            if to is IN_CANARY and self.status is not IN_CANARY:
                self.shown_at = act.at
            self.status = to
            self.seen_by = frozenset(sessions or self.seen_by) if to in (IN_CANARY, ACTIVE) else frozenset()

    def _advances(self, to: RolloutStatus, sessions: tuple[SessionId, ...] | None) -> bool | None:
        """True where it moves, False where nothing changes, None where it is refused."""
        if to is self.status and to is not IN_CANARY:
            return False
        since = [seen for seen in self.results if seen.draft_number == self.draft_number]
        verified = any(seen.kind is RolloutKind.VERIFICATION for seen in since)
        canaries = [seen.success for seen in since if seen.kind is RolloutKind.CANARY]
        failed = any(seen.said == self.said and not seen.success for seen in self.results)
        legal: dict[RolloutStatus, bool] = {
            DRAFT: self.status in (VERIFIED, IN_CANARY),
            VERIFIED: self.status is DRAFT and verified,
            IN_CANARY: self.status in (VERIFIED, IN_CANARY) and bool(sessions or self.seen_by),
            ACTIVE: self.status is IN_CANARY and any(canaries) and not failed,
        }
        if not legal[to]:
            return None
        if to is self.status:
            return sessions is not None and self.skill.canary.sessions != sessions
        return True

    @rule()
    def revoke(self) -> None:
        """Out of use."""
        act = by(self._tick())
        assert self._made(lambda: revoke_promoted(self.skill, act)) is (self.status is not REVOKED)
        self.status, self.seen_by = REVOKED, frozenset()

    @rule()
    def roll_back(self) -> None:
        """To the newest active snapshot."""
        act = by(self._tick())
        source = learning() if self.stands else learning(publish_tier=PublishTier.PROVISIONAL)
        outcome = self._made(lambda: roll_back_promoted(self.skill, self.history, source=source, act=act))
        target = self.was_active[-1] if self.was_active else None
        failed = any(seen.said == target and not seen.success for seen in self.results)
        assert outcome is (
            True if target and self.stands and not failed and self.status is not ACTIVE else None
        )
        if outcome and target is not None:
            self.status, self.said = ACTIVE, target
            self.seen_by = frozenset(self.skill.canary.sessions)

    @rule()
    def change_the_learning(self) -> None:
        """It stands, or it does not."""
        self.stands = not self.stands

    @invariant()
    def the_skill_is_what_the_reference_says(self) -> None:
        """Status, words and results agree; what is active was proven; nothing that happened is lost."""
        if not self.history:
            return
        assert (self.skill.status, self.skill.definition) == (self.status, self.said)
        assert [(e.kind, e.run_id, e.success) for e in self.skill.evidence] == [
            (seen.kind, seen.run, seen.success) for seen in self.results
        ]
        assert len(self.skill.events) == self.skill.revision == len(self.history)
        if self.skill.status is ACTIVE:
            own = [e for e in self.skill.evidence if e.fingerprint == self.skill.fingerprint]
            kinds = {(e.kind, e.success) for e in own}
            assert {(RolloutKind.VERIFICATION, True), (RolloutKind.CANARY, True)} <= kinds
            assert (RolloutKind.CANARY, False) not in kinds
            assert unproven_because(self.skill) is None

    def _made(self, act: Callable[[], PromotedSkill]) -> bool | None:
        """Whether an act changed the skill; None where it was refused. What it made is kept."""
        before = self.skill
        try:
            after = act()
        except RunloreError:
            return None
        if after is before:
            return False
        assert after != replace(before, revision=after.revision)
        assert after.revision == before.revision + 1
        assert after.events[:-1] == before.events
        assert after.evidence[: len(before.evidence)] == before.evidence
        self.skill = after
        self.history.append((len(self.history) + 1, after))
        if after.status is ACTIVE:
            self.was_active.append(after.definition)
        return True

    def _tick(self) -> int:
        self.minute += 1
        return self.minute


@pytest.mark.req("ROL-2", "ROL-3", "ROL-4", "ROL-6", "ROL-7")
def test_whatever_is_done_what_is_active_was_proven_and_nothing_is_lost() -> None:
    run_state_machine_as_test(Rollouts, settings=settings(max_examples=scaled(40), stateful_step_count=50))
