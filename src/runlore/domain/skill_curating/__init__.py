"""How curation decides: what drafts are about, which belong together, and what several say as one."""

from runlore.domain.skill_curating.planning import is_curated, plan_curation

__all__ = ["is_curated", "plan_curation"]
