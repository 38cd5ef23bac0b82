/** What is decided: pure functions and tables. */
export * from "./access.ts";
export * from "./address.ts";
export * from "./decide-fate.ts";
export * from "./egress.ts";
export * from "./egress-tally.ts";
export * from "./event-traits.ts";
export * from "./follow-event.ts";
export * from "./health.ts";
export * from "./machine.ts";
export * from "./project-event.ts";
export * from "./message-machine.ts";
export * from "./repo-address.ts";
export * from "./resources.ts";
export * from "./sandbox-machine.ts";
export * from "./token-bucket.ts";
export * from "./push-policy.ts";
