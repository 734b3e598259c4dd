"""Keeping Runlore well: exports, imports, backups, the doctor and what `status` shows."""

from typing import TYPE_CHECKING

from runlore import __version__
from runlore.daemon.agents_folder import has_agents
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.overview import overview, waiting
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import LazyModule
from runlore.domain.records.audit import Act
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from runlore.daemon import backups, checks, connected_agents, exports, imports
else:
    imports = LazyModule("runlore.daemon.imports")
    checks = LazyModule("runlore.daemon.checks")
    connected_agents = LazyModule("runlore.daemon.connected_agents")
    backups = LazyModule("runlore.daemon.backups")
    exports = LazyModule("runlore.daemon.exports")


class UpkeepActs(Bound):
    """Exports, imports, backups, health."""

    @operation
    def export(self, *, progress: ops.Progress = ops.ignore_progress) -> ops.ExportAnswer:
        with self.parts.store.snapshot() as snapshot:
            return exports.Exports(self.parts.state_root).write(snapshot, self.parts.clock.now(), progress)

    @operation
    def import_records(self, path: str, *, progress: ops.Progress = ops.ignore_progress) -> ops.ImportAnswer:
        act = Act(actor=self.caller.actor, at=self.parts.clock.now(), reason="imported")
        return imports.import_file(self.parts.store, path, self.intake(act), progress)

    @operation
    def backup(
        self, path: str | None = None, *, progress: ops.Progress = ops.ignore_progress
    ) -> ops.BackupAnswer:
        without_secret("the path", path or "")
        return backups.write_backup(self.parts, path, progress)

    @operation
    def restore_backup(self, path: str, *, progress: ops.Progress = ops.ignore_progress) -> ops.BackupAnswer:
        answer = backups.read_backup(self.parts, path, progress)
        self.parts.follower.catch_up()
        self.parts.run_follower.catch_up()
        self.parts.meaning.catch_up()
        self.parts.library.let_go()
        self.parts.library.refresh()
        return answer

    @operation
    def doctor(self, *, repair: bool = False) -> ops.Diagnosis:
        return checks.diagnose(self.parts, repair=repair)

    @operation
    def status(self) -> ops.Status:
        self.parts.library.keep_fresh()
        now = self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            counts = snapshot.records.count()
            number = waiting(self.parts, snapshot)
            sections = overview(snapshot, models=self.parts.models, library=self.parts.library, now=now)
        # It reads a snapshot of its own.
        sections["embedding"] = self.parts.meaning.document()
        # Without this folder no agent is connected, and what knows of them is not loaded.
        root = self.parts.state_root
        sections["agents"] = connected_agents.agents_to_plain(root) if has_agents(root) else []
        doubt = self.parts.clock.doubt()
        if doubt:
            sections["clock"] = {"doubt": doubt}
        return ops.Status(
            version=__version__,
            state_root=self.parts.state_root,
            store=self.parts.store.description(),
            counts=counts,
            waiting=number,
            sections=sections,
        )
