"""Agents over MCP: a few operations as tools, skills and records as resources, one prompt."""
