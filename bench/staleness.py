"""Whether learnings about a repository are flagged when what they name is gone, and only then: histories that
a script makes.

Each history is a folder in which files, tasks, flags and versions come, change and go for sixty days.
Sentences speak of them in different words; others only look as if they did. The script knows what each
sentence names, and so on every day which of them are no longer true. Nothing was chosen by these figures.
"""

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import print_table
from runlore.daemon.folder_staleness import FolderView
from runlore.domain.worth.staleness import find_anchors, find_gone, find_seen

TITLE = "learnings about a repository: flagged when what they name is gone, on histories made by a script"
HISTORIES, DAYS, CHANGES_A_DAY = 30, 60, 3
NAMES = ("api", "billing", "cache", "deploy", "export", "ingest", "mailer", "report", "search", "worker")
ENDINGS = ("py", "ts", "md", "sql", "yaml", "go")
SAID: dict[str, tuple[str, ...]] = {
    "path": (
        "The rules are documented in {}.",
        "Change {} whenever a field is added",
        "`{}` is generated: never edit it by hand",
        "Secrets are read in ({}), nowhere else.",
    ),
    "task": (
        "Run make {} before a commit.",
        "It is checked by `make {}`",
        "Nothing is merged before make {} is green, please",
    ),
    "flag": ("Start it as scripts/run.sh --{}", "Use `scripts/run.sh --{}` on this machine."),
    "version": ("We are on {} {}", "The build needs {}=={} for now", "Pinned to {}@{}, see the changelog."),
}
LOOK_ALIKES = (
    "Ask on example.org/help and/or in the channel.",
    "Commits are small, and each one builds.",
    "Make sure that the tests pass, then push.",
    "The customer says yes/no in the form v2.",
    "Release notes are one line per change.",
)


@dataclass(kw_only=True)
class Scripted:
    """A repository as the script keeps it, with the sentences about it and whether each holds."""

    top: Path
    files: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    versions: dict[str, tuple[int, int]] = field(default_factory=dict)
    said: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)

    def holds(self, kind: str, named: tuple[str, ...]) -> bool:
        """Whether a sentence that names this is true today."""
        if kind == "version":
            return str(self.versions[named[0]][0]) == named[1]
        there = {"path": self.files, "task": self.tasks, "flag": self.flags}.get(kind)
        return there is None or named[0] in there

    def write(self) -> None:
        """The folder as it is now."""
        for path in [each for each in self.top.rglob("*") if each.is_file()]:
            path.unlink()
        recipes = "".join(f"{task}:\n\t@true\n" for task in sorted(self.tasks))
        options = "\n".join(f"  --{flag}) shift ;;" for flag in sorted(self.flags))
        pins = "\n".join(f"{name}=={major}.{minor}.0" for name, (major, minor) in self.versions.items())
        texts = {"Makefile": recipes, "scripts/run.sh": options, "requirements.txt": pins}
        for name, text in {**dict.fromkeys(self.files, "text\n"), **texts}.items():
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_text(text, encoding="utf-8")


def main() -> None:
    counts: dict[str, list[int]] = {kind: [0, 0, 0, 0] for kind in (*SAID, "nothing of it")}
    for seed in range(HISTORIES):
        with tempfile.TemporaryDirectory() as folder:
            follow(random.Random(seed), Scripted(top=Path(folder)), counts)
    print_table(
        ("named", "sentences", "gone some day", "flagged that day", "flagged while true"),
        [(kind, *map(str, numbers)) for kind, numbers in counts.items()],
    )


def follow(rng: random.Random, made: Scripted, counts: dict[str, list[int]]) -> None:
    """One history: each day some changes, then a look."""
    begin(rng, made)
    made.write()
    look = FolderView(str(made.top)).look
    seen = {text: set(find_seen(find_anchors(text), look)) for _, text, _ in made.said}
    gone: set[str] = set()
    caught: set[str] = set()
    wrong: set[str] = set()
    for _ in range(DAYS):
        for _ in range(CHANGES_A_DAY):
            change(rng, made)
        made.write()
        look = FolderView(str(made.top)).look
        for kind, text, named in made.said:
            holds = made.holds(kind, named)
            anchors = find_anchors(text)
            is_flagged = bool(find_gone(anchors, seen[text], look))
            seen[text] |= set(find_seen(anchors, look))
            is_first = not holds and text not in gone
            gone |= {text} if is_first else set()
            caught |= {text} if is_first and is_flagged else set()
            wrong |= {text} if is_flagged and holds else set()
    for kind, text, _ in made.said:
        for place, is_counted in enumerate((True, text in gone, text in caught, text in wrong)):
            counts[kind][place] += is_counted


def begin(rng: random.Random, made: Scripted) -> None:
    """The repository on its first day, and what is said of it."""
    for name in NAMES:
        made.files.add(f"{rng.choice(('src', 'docs', 'lib/core'))}/{name}.{rng.choice(ENDINGS)}")
    made.tasks |= {"check", "build", *rng.sample(NAMES, 3)}
    made.flags |= set(rng.sample(("dry-run", "verbose", "once", "no-cache", "fast"), 3))
    made.versions |= {name: (rng.randint(1, 18), rng.randint(0, 9)) for name in ("django", "react", "redis")}
    told: dict[str, list[tuple[str, ...]]] = {
        "path": [(file,) for file in sorted(made.files)],
        "task": [(task,) for task in sorted(made.tasks)],
        "flag": [(flag,) for flag in sorted(made.flags)],
        "version": [(name, str(major)) for name, (major, _) in made.versions.items()],
    }
    for kind, things in told.items():
        made.said += [(kind, rng.choice(SAID[kind]).format(*named), named) for named in things]
    made.said += [("nothing of it", text, ()) for text in LOOK_ALIKES]


def change(rng: random.Random, made: Scripted) -> None:
    """One change; most leave what is said true."""
    what = rng.random()
    if what < 0.06 and len(made.files) > 1:
        made.files.remove(rng.choice(sorted(made.files)))
    elif what < 0.3:
        made.files.add(f"src/{rng.choice(NAMES)}_{rng.randint(1, 99)}.py")
    elif what < 0.34 and len(made.tasks) > 1:
        made.tasks.remove(rng.choice(sorted(made.tasks)))
    elif what < 0.4:
        made.tasks.add(rng.choice((*NAMES, "check", "build")))
    elif what < 0.42 and len(made.flags) > 1:
        made.flags.remove(rng.choice(sorted(made.flags)))
    elif what < 0.5:
        made.flags.add(rng.choice(("trace", "force", "dry-run", "once")))
    else:
        name = rng.choice(sorted(made.versions))
        major, minor = made.versions[name]
        made.versions[name] = (major + 1, 0) if rng.random() < 0.04 else (major, minor + 1)
