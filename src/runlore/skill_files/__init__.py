"""Skill folders on disk: parsed leniently, written strictly. Filled by the skills issues."""
