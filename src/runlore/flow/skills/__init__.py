"""Skills: suggestions and procedures that become skill folders. Filled by the skills issues."""
