/** The typed client of Drover, for browsers and Node. */
export { createClient, createClientByNeed, type Client, type ClientOptions } from "./create-client.ts";
export type { Calls } from "./calls.ts";
export { newKey, type Call, type CallArguments, type CallOptions, type CallReply } from "./call.ts";
export { ClientError, CLIENT_ERRORS, type ClientErrorCode } from "./client-error.ts";
export { EventStream, type EventStreamOptions } from "./event-stream.ts";
export type { EventsOptions, StreamOpener } from "./event-iterable.ts";
export type { StreamPhase, StreamState, StreamStats } from "./stream-state.ts";
export { toLogEvent, type LogEvent } from "./log-event.ts";
export { SandboxLog, type LogSnapshot, type LogStats, type SandboxLogOptions } from "./sandbox-log.ts";
export type { EventPredicate, WaitOptions } from "./wait-for.ts";
export type { TerminalOptions, TerminalSession } from "./terminal-session.ts";
export type { Timers } from "./timers.ts";
export { EventFeed, type EventFeedOptions, type EventFeedSnapshot } from "./event-feed.ts";
export { SandboxWatch, type MessageDraft, type SandboxSnapshot } from "./sandbox-watch.ts";
export type { SentMessage, SentState } from "./sent-message.ts";
