"""Values that have to agree are one parameter."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.suggesting.parameters import agreeing
from tests.domain.plain_transcripts import learned

pytestmark = pytest.mark.req("SKL-4")

WORDS = st.text(alphabet="abcxyz019", min_size=1, max_size=6)
AROUND = st.text(alphabet="abc/:=.-_", max_size=6)


@pytest.mark.parametrize(
    ("calls", "values", "told", "names"),
    [
        (
            (
                "docker build -t reg/shop:{} .",
                "docker push reg/shop:{}",
                "kubectl set image deployment/shop app=reg/shop:{}",
                "kubectl rollout status deployment/shop",
            ),
            ("1.1.0", "1.2.0", "1.3.0"),
            ("<image>", "<image>", "app=<image>", "deployment/shop"),
            ["image"],
        ),
        (
            (
                "terraform init -backend-config=infra/{}",
                "terraform validate -no-color",
                "terraform plan -var-file={}.tfvars -out=p",
                "terraform apply p",
            ),
            ("staging", "prod", "dev"),
            ("infra/<env>", "validate", "-var-file=<env>.tfvars", "apply"),
            ["env"],
        ),
        (
            (
                "make image",
                "docker push reg/shop:{}",
                "kubectl apply -f k8s/{}.yaml -n {}",
                "make smoke-test",
            ),
            ("staging", "prod", "dev"),
            ("image", "reg/shop:<namespace>", "-f k8s/<namespace>.yaml -n <namespace>", "make"),
            ["namespace"],
        ),
    ],
)
def test_a_value_with_something_constant_around_it_is_the_same_parameter(
    calls: tuple[str, ...],
    values: tuple[str, ...],
    told: tuple[str, ...],
    names: list[str],
    tmp_path: Path,
) -> None:
    sessions = [[("do it", [call.replace("{}", value) for call in calls])] for value in values]
    (found,) = learned(tmp_path, *sessions).values()

    assert [parameter.name for parameter in found.parameters] == names
    assert len(found.commands) == len(told)
    assert all(part in command for part, command in zip(told, found.commands, strict=True))


@pytest.mark.parametrize(
    "names",
    [
        # One value says nothing about others.
        {("shop",): "image", ("app=shop",): "resource"},
        # It holds for one of them alone.
        {("a", "b"): "x", ("pre-a", "pre-c"): "y"},
        # What goes from one place to the other is not the same thing.
        {("prod", "dev"): "x", ("dev", "prod"): "y"},
        # A message is a text of its own.
        {("1", "2"): "x", ("add col 1", "add col 2"): "message"},
        # What needs quotes stays in them.
        {("a1", "b2"): "x", ("p;a1", "p;b2"): "y"},
        # A number that two names end in may be a count.
        {("backup-1.dump", "backup-2.dump"): "file", ("port1", "port2"): "value"},
    ],
)
def test_values_that_only_look_alike_stay_apart(names: dict[tuple[str, ...], str]) -> None:
    assert agreeing(names) == {}


def test_a_version_in_two_other_values_is_one_word() -> None:
    found = agreeing({("shop:1.1.0-rc", "shop:1.2.0-rc"): "image", ("out/1.1.0", "out/1.2.0"): "path"})

    assert {(part.before, part.name, part.after) for part in found.values()} == {
        ("shop:", "version", "-rc"),
        ("out/", "version", ""),
    }
    assert {part.values for part in found.values()} == {("1.1.0", "1.2.0")}


def test_a_place_that_was_seen_more_often_agrees_where_all_its_values_do() -> None:
    base, more = ("1.1", "1.2"), ("v1.1", "v1.2", "v1.1", "v1.2")

    assert agreeing({base: "version", more: "version"})[more][:3] == ("v", base, "version")
    assert agreeing({base: "version", (*more, "v1.3"): "version"}) == {}


@given(st.lists(WORDS, min_size=2, max_size=4, unique=True), AROUND, AROUND, AROUND, AROUND)
def test_a_value_is_what_its_parts_come_to(words: list[str], a: str, b: str, c: str, d: str) -> None:
    names = {tuple(words): "x", tuple(f"{a}{word}{b}" for word in words): "y"}
    names[tuple(f"{c}{word}{d}" for word in words)] = "z"

    for values, part in agreeing(names).items():
        assert values == tuple(f"{part.before}{each}{part.after}" for each in part.values)
        assert values != part.values
