// Written by `runlore connect opencode`; `runlore disconnect opencode` removes it. It runs runlore/hook.py.
import { spawn } from "node:child_process"

const COMMAND = __COMMAND__

function report(event, payload) {
  return new Promise((resolve) => {
    let output = ""
    const [program, ...words] = COMMAND
    // The event stands behind the agent's name; options follow it.
    const place = words.indexOf("opencode") + 1
    const child = spawn(program, [...words.slice(0, place), event, ...words.slice(place)], { timeout: 5000 })
    child.on("error", () => resolve({}))
    child.stdout.on("data", (data) => (output += data))
    child.on("close", () => {
      try {
        resolve(JSON.parse(output || "{}"))
      } catch {
        resolve({})
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })
}

export const RunlorePlugin = async ({ directory }) => {
  const context = new Map()
  return {
    "chat.message": async (input, output) => {
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      const answer = await report("message", { session_id: input.sessionID, cwd: directory, prompt })
      context.set(input.sessionID, answer.additionalContext || "")
    },
    "experimental.chat.system.transform": async (input, output) => {
      const told = context.get(input.sessionID)
      if (told) output.system.push(told)
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      await report("idle", { session_id: event.properties.sessionID, cwd: directory })
    },
  }
}
