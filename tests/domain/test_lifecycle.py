"""The shape of a state machine: what its table does not have is a typed conflict."""

import itertools
from enum import StrEnum

import pytest

from runlore.domain.errors import Conflict
from runlore.domain.lifecycle import Lifecycle


class Light(StrEnum):
    """Where a lamp stands."""

    OFF = "off"
    ON = "on"
    BROKEN = "broken"


class Act(StrEnum):
    """What happens to a lamp."""

    PRESS = "press"
    DROP = "drop"


LAMP = Lifecycle[Light, Act](
    "a lamp",
    {
        (Light.OFF, Act.PRESS): Light.ON,
        (Light.ON, Act.PRESS): Light.OFF,
        (Light.OFF, Act.DROP): Light.BROKEN,
        (Light.ON, Act.DROP): Light.BROKEN,
    },
)


@pytest.mark.req("REC-5")
@pytest.mark.parametrize(("state", "move"), list(itertools.product(Light, Act)))
def test_the_table_alone_says_where_a_move_leads(state: Light, move: Act) -> None:
    if (state, move) in LAMP.table:
        assert LAMP.allows(state, move)
        assert LAMP.after(state, move, name="the left one") == LAMP.table[(state, move)]
        return
    assert not LAMP.allows(state, move)
    with pytest.raises(Conflict) as conflict:
        LAMP.after(state, move, name="the left one")
    assert all(word in conflict.value.sentence for word in ("lamp", "the left one", state.value, move.value))
    assert conflict.value.code == "lamp.move"


@pytest.mark.req("REC-5")
def test_the_hint_lists_what_is_possible_instead() -> None:
    machine = Lifecycle[Light, Act]("a lamp", {(Light.OFF, Act.PRESS): Light.ON})

    with pytest.raises(Conflict) as conflict:
        machine.after(Light.OFF, Act.DROP, name="x")
    assert conflict.value.hint == "from off these moves are possible: press"

    with pytest.raises(Conflict) as conflict:
        machine.after(Light.BROKEN, Act.PRESS, name="x")
    assert conflict.value.hint == "from broken these moves are possible: nothing"
