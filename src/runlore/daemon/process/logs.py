"""The daemon's log: one JSON document a line, to standard error or to a file that is rotated by size.

Bodies, tokens and the texts of queries are never logged.
"""

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from typing import TextIO

import structlog

from runlore.domain.policies.policy import RetentionPolicy
from runlore.flow.policies import current_retention
from runlore.ports.store import Store

LOG_FOLDER = "logs"
LOG_NAME = "daemon.log"
_MIB = 1024**2
_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


class RotatingLog(RotatingFileHandler):
    """A log file that only this user can read. How large and how many is the retention policy's."""

    def __init__(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        policy = RetentionPolicy()
        super().__init__(
            path, maxBytes=policy.log_mb_max * _MIB, backupCount=policy.logs_kept, encoding="utf-8"
        )

    def follow(self, policy: RetentionPolicy) -> None:
        """Take the policy's limits; what there is too much of goes with the next rotation."""
        self.maxBytes = policy.log_mb_max * _MIB
        kept, self.backupCount = self.backupCount, policy.logs_kept
        for number in range(policy.logs_kept + 1, kept + 1):
            try:
                os.unlink(f"{self.baseFilename}.{number}")
            except FileNotFoundError:
                continue

    def _open(self) -> TextIO:  # type: ignore[override]
        return open(os.open(self.baseFilename, _APPEND, 0o600), "a", encoding="utf-8")


_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


def log_path(state_root: str) -> str:
    return os.path.join(state_root, LOG_FOLDER, LOG_NAME)


def set_up_logs(log_file: str | None = None) -> RotatingLog | None:
    """Send everything that is logged in this process to one place."""
    handler: logging.Handler = (
        logging.StreamHandler(sys.stderr) if log_file is None else RotatingLog(log_file)
    )
    renderer = structlog.processors.JSONRenderer(sort_keys=False)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # Its line for every request would hold the query; what it says of connections is kept.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return handler if isinstance(handler, RotatingLog) else None


def follow_policy(log: RotatingLog | None, store: Store) -> None:
    """Let the log file follow the retention policy in force."""
    if log is not None:
        with store.snapshot() as snapshot:
            policy = current_retention(snapshot)
        log.follow(policy)
