/** What is decided: pure functions and tables. */
export * from "./access.ts";
export * from "./decide-fate.ts";
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
