"""What takes something away is told with a warning, is never how to see that it worked, and mends nothing."""

from pathlib import Path

import pytest

from runlore.domain.suggesting.harm import loosens, takes_away
from tests.domain.plain_transcripts import learned
from tests.domain.suggesting.suggesting_matches import steps

pytestmark = pytest.mark.req("SKL-4")

TAKING = (
    "rails db:drop",
    "rails db:create db:drop",
    "bundle exec rails db:reset",
    "bin/rails db:drop",
    "php artisan migrate:fresh",
    "python manage.py flush --no-input",
    "npx prisma migrate reset --force",
    "aws s3 rm s3://shop --recursive",
    "aws --profile prod s3 sync dist s3://shop --delete",
    "aws ec2 terminate-instances --instance-ids i-1",
    "gcloud compute instances delete web",
    "redis-cli FLUSHALL",
    "redis-cli -h cache flushdb",
    "mkfs.ext4 /dev/sdb",
    "wipefs -a /dev/sdb",
    "sudo -u root rm -rf /var/cache/shop",
    "/bin/rm -rf dist",
    "env A=1 rm -fr out",
    "rm .git/index.lock",
    "find . -name '*.pyc' -delete",
    "kubectl --context prod delete pvc data",
    "terraform -chdir=infra destroy",
    "terraform force-unlock -force 12",
    "docker volume rm data",
    "docker system prune -af",
    "docker compose -f a.yml down -v",
    "psql -U me -c 'DROP DATABASE shop'",
    "mysql -e 'truncate orders'",
    'psql shop -c "delete from users"',
    "git -C shop reset --hard origin/main",
    "git clean -fdx",
    "git push --force",
    "git push origin +main",
    "git push origin :old",
    "helm -n prod uninstall shop",
    "gh release delete v1.0.0",
    "ssh web 'rm -rf /srv/shop'",
)
LEAVING = (
    "rails db:migrate",
    "aws s3 sync dist s3://shop",
    "redis-cli PING",
    "rm notes.txt",
    "find . -name x",
    "kubectl get pods -n delete",
    "terraform plan -destroy",
    "terraform apply plan.out",
    "docker run -v a:b image",
    "docker compose down",
    "psql -c 'select dropped from parcels'",
    "git commit -m 'reset --hard'",
    "git reset HEAD~1",
    "git push origin main",
    "git tag v1.0.0",
    "helm upgrade shop ./chart",
    "chmod -R 755 dist",
)


@pytest.mark.parametrize("command", TAKING)
def test_what_takes_away_is_known_behind_flags_and_wrappers(command: str) -> None:
    (step,) = steps(command)

    assert any(map(takes_away, step.commands))


@pytest.mark.parametrize("command", LEAVING)
def test_what_leaves_everything_there_is_not_warned_of(command: str) -> None:
    (step,) = steps(command)

    assert not any(map(takes_away, step.commands))


def test_what_is_written_to_a_device_takes_away_what_was_there() -> None:
    device, file = (steps(f"dd if=a of={name} && make x")[0] for name in ("/dev/sdb", "b.img"))

    assert takes_away(device.commands[0])
    assert not takes_away(file.commands[0])


@pytest.mark.parametrize(
    ("command", "is_loose"),
    [
        ("chmod -R 777 /srv", True),
        ("sudo chmod -R a+rwx data", True),
        ("chmod --recursive o+w data", True),
        ("chmod 777 a", False),
        ("chmod -R 755 data", False),
        ("chmod -R u+w data", False),
    ],
)
def test_permissions_are_loosened_where_everybody_may_write_a_whole_folder(
    command: str, is_loose: bool
) -> None:
    (step,) = steps(command)

    assert loosens(step.commands[0]) is is_loose


@pytest.mark.parametrize(
    ("calls", "warned", "verified"),
    [
        (
            ("createdb shop", "psql shop -f schema.sql", "redis-cli FLUSHALL"),
            ("redis-cli FLUSHALL",),
            "psql shop -f schema.sql",
        ),
        (
            ("docker compose up -d", "rails db:drop", "rails db:create", "rails db:migrate"),
            ("rails db:drop",),
            "rails db:migrate",
        ),
        (
            ("make build", "kubectl --context prod delete pvc data", "make deploy"),
            ("kubectl --context prod delete pvc data",),
            "make deploy",
        ),
    ],
)
def test_a_step_that_takes_away_is_warned_of_and_verifies_nothing(
    calls: tuple[str, ...], warned: tuple[str, ...], verified: str, tmp_path: Path
) -> None:
    (found,) = learned(tmp_path, *([("do it", calls)] for _ in range(4))).values()
    pitfalls, _, verification = found.body.partition("## Verification")

    told = [line for line in pitfalls.splitlines() if "cannot be had back" in line]
    assert told == [f"- `{each}` takes away what cannot be had back: look at it first." for each in warned]
    assert f"- `{verified}` should e" in verification
    assert not any(each in verification for each in warned)


def test_a_warning_names_the_step_as_it_is_told_and_nothing_verifies_it(tmp_path: Path) -> None:
    sessions = (
        [("clean up", [f"kubectl delete pod shop-{number} -n prod", "helm uninstall shop"])]
        for number in range(7)
    )
    (found,) = learned(tmp_path, *sessions).values()

    assert "- `kubectl delete pod <resource> -n prod` takes away" in found.body
    assert "shop-6 -n prod" not in found.body
    assert found.body.endswith("Look whether what was to go is gone, and nothing else.\n")


@pytest.mark.parametrize(
    "between", ["docker volume rm data", "sudo chmod -R 777 /srv", "rm -rf data", "git clean -fdx"]
)
def test_what_takes_away_or_loosens_is_no_fix(between: str, tmp_path: Path) -> None:
    calls = ("!npm ci # EACCES: permission denied", between, "npm ci")
    found = learned(tmp_path, *([("build", calls)] for _ in range(3)))

    assert not [name for name in found if name.startswith("fix-")]
