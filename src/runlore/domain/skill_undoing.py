"""What a curation leaves a skill as, so that it can be told later whether it is still that.

Every write moves a skill one revision on, also one that puts it back, such as undoing what came since or
restoring what was deleted: it is the content that says whether anything has changed.
"""

from dataclasses import replace
from hashlib import blake2b

from runlore.domain.skill import Skill


def content_of(skill: Skill) -> str:
    """A digest of what a skill says, where it stands, and what it comes from; neither times nor usage."""
    said = (
        *(replace(skill.document, metadata={}), sorted(skill.document.metadata.items()), skill.text),
        *(skill.origin, skill.state, skill.merged_into, skill.provenance),
        *(skill.suggestion_id, skill.pattern, skill.also_from),
    )
    return blake2b(repr(said).encode(errors="surrogatepass"), digest_size=16).hexdigest()
