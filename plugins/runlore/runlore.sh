#!/bin/sh
# Hands an event of the agent to Runlore. Where `runlore connect AGENT --plugin` was not called it does nothing.
agent=claude-code
if [ -n "$PLUGIN_ROOT" ]; then agent=codex; fi
launcher="${RUNLORE_HOME:-$HOME/.runlore}/agents/$agent.sh"
if [ -f "$launcher" ]; then exec sh "$launcher" "$1"; fi
