"""The MCP surface for agents. Filled after the HTTP surface."""
