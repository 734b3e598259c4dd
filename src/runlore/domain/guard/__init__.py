"""The secret guard: nothing that may be a credential is kept, shown or put into a prompt (LRN-8).

A text is folded (compatibility letters, invisible characters), one pass over it finds the anchors
of all rules, and RE2 tries only the rules that were asked for, where they were asked for. There
are three kinds of rules: token shapes of providers, structures such as armoured keys and
addresses with a password, and names of credentials with a value. The guard is pure: it reads no
file, keeps no text, and a finding says which rule spoke and where, never what was found.
"""

from runlore.domain.guard.entry import find_secrets, first_secret, redact, secret_spans
from runlore.domain.guard.finding import SecretFinding

__all__ = ["SecretFinding", "find_secrets", "first_secret", "redact", "secret_spans"]
