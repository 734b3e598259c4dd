"""`save`, `skip` and `reset-skips` of skills: what becomes of suggested skills."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation
from runlore.cli.skills.library import skill_or_none
from runlore.cli.skills.mount_updates import bring_mounts_up_to_date
from runlore.cli.skills.prompt import ask_about, is_terminal
from runlore.cli.tables import library_tables
from runlore.cli.tables.table_cells import plural, time_text
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import PolicyName
from runlore.domain.policies.skills_policy import SkillCurationPolicy, skills_policy
from runlore.domain.skill import Skill, SkillId
from runlore.domain.skills import skips
from runlore.domain.suggestion import StoredSuggestion
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate


@dataclass(frozen=True, kw_only=True)
class SaveOptions:
    """Which suggestions become skills, and how."""

    names: Annotated[
        tuple[str, ...],
        argument(
            "NAME...",
            "Suggestions by name or id; without any you are asked about each.",
            completes="suggestion",
        ),
    ] = ()
    name: Annotated[str | None, option("--name NAME", "What the one shall be called.")] = None
    accept_untrusted: options.AcceptOption = False
    expected_revision: options.ExpectedOption = None


def save(call: Invocation, choice: SaveOptions) -> None:
    """Keep suggested skills.

    Without a name you are asked about each on a terminal: Enter saves it, n leaves it for now, s skips it for
    as long as skip_reset_days says (30 days), q stops. Elsewhere, and with --json, what waits is listed.
    """
    from runlore.daemon.mining.proposing import waiting_suggestions

    for name, given in (("--name", choice.name), ("--expected-revision", choice.expected_revision)):
        if given is not None and len(choice.names) != 1:
            raise Invalid(
                f"{name} is for one suggestion, and {len(choice.names):,} are given",
                code="usage",
                hint=f"name one: runlore skill save SUGGESTION {name} ...",
            )
    if choice.names:
        _save_named(call, choice)
        return
    is_asked = is_terminal() and not call.as_json
    if choice.accept_untrusted and not is_asked:
        raise Invalid(
            "--accept-untrusted is for suggestions that you have read, and none is named",
            code="usage",
            hint="name them: runlore skill save NAME --accept-untrusted",
        )
    with call.operations() as operations:
        waiting = waiting_suggestions(operations)
    if waiting and is_asked:
        save_asking(call, waiting, accept=choice.accept_untrusted)
        return
    page = ops.SuggestionPage(items=waiting)
    call.answer(answers.write(page), lambda: _show_waiting(page))


def skip(
    call: Invocation,
    name: Annotated[
        str, argument("NAME", "A suggestion or a saved skill, by name or id.", completes="suggestion")
    ],
) -> None:
    """Do not suggest this again, for 30 days by default.

    How long is `skip_reset_days` of the skills policy. The same pattern does not come back under another
    name. A draft that was saved from it goes with the next curation; a skill that somebody edited stays.
    """
    with call.operations() as operations:
        skill = skill_or_none(operations, name)
        stored = operations.skip_suggestion(_suggestion_of(operations, name, skill).suggestion_id)
        policy = _policy_of_skips(operations)

    def show() -> None:
        show_skipped(stored, policy)
        if skill is not None and skill.is_draft:
            say(f"The skill {skill.name} goes with the next curation: runlore skill curate --apply", "dim")
        elif skill is not None:
            say(
                f"The skill {skill.name} stays, somebody made it theirs: runlore skill delete {skill.name}",
                "dim",
            )

    call.answer(answers.write(stored), show)


def reset_skips(
    call: Invocation,
    name: Annotated[str | None, argument("NAME", "Only this one.")] = None,
) -> None:
    """Let what was skipped be suggested again.

    All of it, or one by its name or id.
    """
    call.ask(lambda operations: operations.reset_skips(name), lambda reset: _show_reset(reset, name))


def show_skipped(stored: StoredSuggestion, policy: SkillCurationPolicy) -> None:
    name, skip = stored.suggestion.name, skips.skip_of(stored)
    until = None if skip is None else skips.lasts_until(skip, policy)
    say(f"Skipped {name} {'for good' if until is None else f'until {time_text(until)}'}")
    say(f"To have it suggested again: runlore skill reset-skips {name}", "dim")


def _save_named(call: Invocation, choice: SaveOptions) -> None:
    expected = choice.expected_revision
    with call.operations() as operations:
        # All are looked up before the first is saved, and one that is refused is refused before that.
        found = [operations.get_suggestion(name) for name in dict.fromkeys(choice.names)]
        ordered = sorted(found, key=lambda stored: not stored.suggestion.provenance.tainted)
        there = frozenset() if all(stored.waits for stored in found) else _live_ids(operations)
        saved = [
            operations.save_skill(
                ops.SaveSkill(
                    suggestion=stored.suggestion_id,
                    name=choice.name,
                    accept_untrusted=choice.accept_untrusted,
                    expected_revision=stored.revision if expected is None else expected,
                )
            )
            for stored in ordered
        ]
        bring_mounts_up_to_date(call, operations)

    def show() -> None:
        for stored, skill in zip(ordered, saved, strict=True):
            if skill.skill_id in there:
                say(f"{stored.suggestion.name} is saved already, as {skill.name}  {skill.skill_id}")
            else:
                _show_saved(skill)
        _show_next(call, len(saved))

    call.answer(answers.write(saved), show)


def save_asking(call: Invocation, waiting: tuple[StoredSuggestion, ...], *, accept: bool) -> None:
    def save_one(stored: StoredSuggestion) -> None:
        is_outside = stored.suggestion.provenance.tainted
        request = ops.SaveSkill(
            suggestion=stored.suggestion_id,
            accept_untrusted=accept or is_outside,
            # Whoever says yes to what comes from outside says it to what was shown.
            expected_revision=stored.revision if accept or is_outside else None,
        )
        with call.operations() as operations:
            skill = operations.save_skill(request)
            bring_mounts_up_to_date(call, operations)
        _show_saved(skill)

    def skip_one(stored: StoredSuggestion) -> None:
        with call.operations() as operations:
            show_skipped(operations.skip_suggestion(stored.suggestion_id), policy)

    with call.operations() as operations:
        policy = _policy_of_skips(operations)
    days = policy.skip_reset_days
    say(f"{plural(len(waiting), 'suggested skill waits', 'suggested skills wait')} for you.")
    lasts = f"for {plural(days, 'day')}" if days else "for good"
    saved = ask_about(waiting, save_one, skip_one, skip_lasts=lasts).saved
    if saved:
        _show_next(call, saved)


def _policy_of_skips(operations: ops.Operations) -> SkillCurationPolicy:
    return skills_policy(operations.get_policy(PolicyName.SKILLS).policy).curation


def _live_ids(operations: ops.Operations) -> frozenset[SkillId]:
    skills = paginate(operations.list_skills, ops.SkillsRequest(limit=limits.LIST_LIMIT_MAX))
    return frozenset(skill.skill_id for skill in skills)


def _suggestion_of(operations: ops.Operations, name: str, skill: Skill | None) -> StoredSuggestion:
    if skill is None:
        return operations.get_suggestion(name)
    if skill.suggestion_id is None:
        raise Refused(
            f"skill {skill.name} was not learned from a suggestion, so there is none to skip",
            code="skill.not-learned",
            hint=f"`runlore skill delete {skill.name}` takes it away",
        )
    return operations.get_suggestion(skill.suggestion_id)


def _show_waiting(page: ops.SuggestionPage) -> None:
    if not page.items:
        say("Nothing waits. `runlore learn` looks for skills in the sessions of your agents.", "dim")
        return
    library_tables.show_suggestions(page)
    first = page.items[0].suggestion
    say("What next:", "dim")
    say(f"  runlore skill suggestions show {first.name}  shows one with its evidence", "dim")
    if first.provenance.tainted:
        say(f"  runlore skill save {first.name} --accept-untrusted  keeps it when you have read it", "dim")
    else:
        say(f"  runlore skill save {first.name}  keeps it as a skill", "dim")


def _show_saved(skill: Skill) -> None:
    say(f"Saved {skill.name}  {skill.skill_id}")


def _show_next(call: Invocation, saved: int) -> None:
    from runlore.daemon.skills.mounting import MountManager

    settings = call.settings()
    if not MountManager(settings.state_root, source=settings.url or "").folders():
        them = "it" if saved == 1 else "them"
        say(f"To let your agents find {them}: runlore skill mount --user", "dim")


def _show_reset(reset: tuple[StoredSuggestion, ...], name: str | None) -> None:
    if not reset:
        say("Nothing was skipped." if name is None else f"{name} was not skipped.", "dim")
    for stored in reset:
        library_tables.show_reset(stored)
