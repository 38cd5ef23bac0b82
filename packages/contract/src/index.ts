/** What is said between Drover's processes. */
export * from "./errors.ts";
export * from "./ids.ts";
export * from "./json.ts";
export * from "./time.ts";
export * from "./problem.ts";
export * from "./endpoint.ts";
export * from "./endpoints.ts";
export * from "./frames.ts";
export * from "./options.ts";
export * from "./events/event.ts";
export * from "./events/envelope.ts";
export * from "./events/reserved.ts";
export * from "./resources/log.ts";
export * from "./resources/message.ts";
export * from "./resources/project.ts";
export * from "./resources/sandbox.ts";
export * from "./resources/token.ts";
