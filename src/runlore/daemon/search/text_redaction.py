"""How texts go to an embedding backend: as they are where it is on this machine, and else without secrets,
and without personal data unless the policy says that these may be told."""

from hashlib import sha256

from runlore.daemon.search.embedding_backend import Backend
from runlore.domain.lazy import dataclass
from runlore.domain.privacy.redaction import redact_text
from runlore.flow.policies import current_run_memory
from runlore.ports.store import Collections, Store

PRIVATE = "what is asked in a private session is not sent to an embedding backend beyond this machine"


@dataclass(frozen=True, kw_only=True)
class TextRedaction:
    """What becomes of a text on its way. `hides_personal` is false where nothing leaves this machine."""

    stays_here: bool
    hides_personal: bool

    def text(self, text: str) -> str:
        return text if self.stays_here else redact_text(text, personal=self.hides_personal).text

    def mark(self, text: str) -> str:
        """What a vector of a text is marked with: another text, or another way to send it, has another."""
        return self.mark_digest(digest_of(text))

    def mark_digest(self, digest: str) -> str:
        """The same, of a text's digest."""
        return f"{digest} redacted" if self.hides_personal else digest


def digest_of(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def sending_to(backend: Backend, collections: Collections) -> TextRedaction:
    """How texts go to a backend, by the policy as it is."""
    hides_personal = not backend.stays_here and current_run_memory(collections).redact_pii
    return TextRedaction(stays_here=backend.stays_here, hides_personal=hides_personal)


def sending_now(backend: Backend, store: Store) -> TextRedaction:
    """The same where no snapshot is open; nothing is read where nothing leaves this machine."""
    if backend.stays_here:
        return TextRedaction(stays_here=True, hides_personal=False)
    with store.snapshot() as snapshot:
        return sending_to(backend, snapshot)
