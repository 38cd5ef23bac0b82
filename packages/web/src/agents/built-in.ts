/** Agents that nobody has to install. */
export const BUILT_IN = [
  { name: "openhands", title: "OpenHands", note: "An agent server of yours, spoken to over its own protocol." },
  { name: "acp", title: "Any agent that speaks ACP", note: "The program you name in the request, inside the sandbox." },
  { name: "scripted", title: "Scripted", note: "Plays the steps of a script: for demos and tests, without a model." },
] as const;
