"""A world with something of everything in it."""

from datetime import timedelta

from runlore.domain.record import Kind, Sensitivity
from runlore.domain.scope import Scope, ScopeKind
from tests.fakes import START
from tests.world import World, found


def fill(world: World) -> None:
    """Every layer that operations write, every state, every link, and something forgotten."""
    later = START + timedelta(days=30)
    world.profile("editor", "vim", sensitivity=Sensitivity.SENSITIVE)
    world.profile("editor", "emacs", sensitivity=Sensitivity.SENSITIVE, expires_at=later)
    world.reject(world.propose("shell", "zsh", scope=Scope(ScopeKind.PROJECT, "acme")))
    world.rollback(world.profile("pager", "less"), reason="not so")
    world.clock.advance(seconds=1)
    for how in ("at night", "on Mondays"):
        world.fact(f"The shop uses canary releases {how}", topic_tags=("canary", "shop"))
    world.confirm(world.finding("The shop uses canary releases at night"))
    world.confirm(world.proposals()[0])
    found(world.agent, "用户喜欢深色主题 \u202e\t“quoted”")
    world.procedure("Run the tests, then tag", "release")
    world.episode(kind=Kind.FAILURE, metadata={"trials": 3, "rate": 0.25, "notes": [None, True, {"a": []}]})
    world.clock.advance(seconds=1)
    world.forget(world.profile("address", "Elm Street"))
    world.propose("theme", "dark", expires_at=later)
