/** Why a sandbox is in its state, in words; what has no words of ours is shown as it is. */
const WORDS: Readonly<Record<string, string>> = {
  "agent.started": "the agent began",
  "agent.resumed": "the agent went on",
  "agent.completed": "the agent finished",
  "agent.failed": "the agent failed",
  budget: "its budget is spent",
  external: "its worker was brought along",
  heartbeat_timeout: "no heartbeat came",
  idle_timeout: "idle for too long",
  stuck_running: "stuck",
  user: "by a person",
};

export const toCause = (cause: string): string => (Object.hasOwn(WORDS, cause) ? (WORDS[cause] ?? cause) : cause);
