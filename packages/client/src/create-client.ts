/** The typed client: one method per endpoint, built from the contract, and the live stream. */
import { eventEndpoints, type Api, type EventFrame } from "@drover/contract";
import { toCall, type CallContext } from "./call.ts";
import { toCalls, type Calls } from "./calls.ts";
import { addCallsByNeed } from "./calls-by-need.ts";
import { iterateEvents, type EventsOptions, type StreamOpener } from "./event-iterable.ts";
import { EventStream } from "./event-stream.ts";
import { SandboxLog, type SandboxLogOptions } from "./sandbox-log.ts";
import { toSocketAddress } from "./stream-address.ts";
import { openTerminal, type TerminalOptions, type TerminalSession } from "./terminal-session.ts";
import { systemTimers, type Timers } from "./timers.ts";
import { waitFor, type EventPredicate, type WaitOptions } from "./wait-for.ts";

export interface ClientOptions {
  /** `http://host:port`; empty is the page's own origin. */
  readonly baseUrl?: string | undefined;
  /** A bearer token; without one the browser's session cookie counts. */
  readonly token?: string | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly WebSocket?: typeof globalThis.WebSocket | undefined;
  readonly timers?: Timers | undefined;
  readonly random?: (() => number) | undefined;
}

interface Live {
  readonly baseUrl: string;
  /** Every matching event once and in order; ends with the signal. */
  events(options?: EventsOptions): AsyncIterable<EventFrame>;
  waitFor(sandboxId: string, what: string | EventPredicate, options?: WaitOptions): Promise<EventFrame>;
  /** The stream by callbacks; close it when done. */
  openStream: StreamOpener;
  /** One sandbox's log as a store; close it when done. */
  openSandboxLog(sandboxId: string, options?: SandboxLogOptions): SandboxLog;
  /** A terminal in a sandbox; close it when done. */
  openTerminal(sandboxId: string, options: TerminalOptions): Promise<TerminalSession>;
}

export type Client = Calls & Live;

export const createClient = (options: ClientOptions = {}): Client => {
  const context = toContext(options);
  return { ...toCalls(context), ...toLive(context, options) };
};

/** The same for a page that must start soon: `first` is part of it, and the whole table comes when a call outside of that is made. */
export const createClientByNeed = (
  options: ClientOptions,
  first: Partial<Api>,
  loadApi: () => Promise<Api>,
): Client => {
  const context = toContext(options);
  return addCallsByNeed(toLive(context, options), context, first, loadApi);
};

const toContext = (options: ClientOptions): CallContext => ({
  baseUrl: (options.baseUrl ?? "").replace(/\/+$/, ""),
  token: options.token,
  fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
  timers: options.timers ?? systemTimers,
  random: options.random ?? Math.random,
});

function toLive(context: CallContext, options: ClientOptions): Live {
  const { baseUrl, timers, random } = context;
  const loadEvents = toCall(context, eventEndpoints.listSandboxEvents);
  const openStream: StreamOpener = (stream) =>
    new EventStream({
      timers,
      random,
      ...stream,
      address: toSocketAddress(baseUrl),
      token: options.token,
      WebSocket: options.WebSocket,
    });
  return {
    baseUrl,
    openStream,
    events: (given = {}) => iterateEvents(openStream, given),
    waitFor: (sandboxId, what, given) => waitFor(openStream, timers, sandboxId, what, given),
    openSandboxLog: (sandboxId, given = {}) =>
      new SandboxLog({ timers, random, ...given, sandboxId, openStream, loadEvents }),
    openTerminal: (sandboxId, given) =>
      openTerminal(
        { baseUrl, token: options.token, WebSocket: options.WebSocket ?? globalThis.WebSocket },
        sandboxId,
        given,
      ),
  };
}
