/** The connection to a Docker or Podman engine, and what its failures mean for a caller. */
import { AppError } from "@drover/contract";
import type Docker from "dockerode";

export interface Connection {
  readonly docker: Docker;
  /** As configured, for people. */
  readonly host: string;
  /** On this machine: its containers can see directories of ours. */
  readonly isLocal: boolean;
}

/** `unix:///run/docker.sock`, the bare path of a socket, or `tcp://host:port`. */
export async function connectEngine(host: string): Promise<Connection> {
  // Loaded when it is wanted: most installations never speak to an engine.
  const { default: Engine } = await import("dockerode");
  const path = host.startsWith("/") ? host : /^unix:\/\/(\/.+)$/.exec(host)?.[1];
  if (path !== undefined) return { docker: new Engine({ socketPath: path }), host, isLocal: true };
  const [, name, port] = /^tcp:\/\/([^:/]+|\[[^\]]+\]):(\d+)\/?$/.exec(host) ?? [];
  if (name === undefined)
    throw new AppError("config.invalid", `${host} names no container engine: use unix:///path or tcp://host:port`);
  return { docker: new Engine({ protocol: "http", host: name, port: Number(port) }), host, isLocal: false };
}

export interface Engine {
  readonly isPodman: boolean;
  /** Name and version, for people. */
  readonly title: string;
}

/** Podman answers as Docker does, and names itself among its parts. */
export async function identifyEngine({ docker }: Connection): Promise<Engine> {
  const { Version: version, Platform: platform, Components: parts } = await docker.version();
  const podman = (parts ?? []).find(({ Name }) => Name.startsWith("Podman"));
  return { isPodman: podman !== undefined, title: `${podman?.Name ?? platform?.Name ?? "engine"} ${version}` };
}

/** What an engine's refusal carries. Its words are for people, its status for us. */
interface EngineError {
  readonly statusCode?: number;
  readonly code?: string;
  readonly message: string;
}

export const statusOf = (error: unknown): number | undefined => (error as EngineError).statusCode;

const AWAY: Readonly<Record<string, string>> = {
  ENOENT: "there is no socket; start the engine (systemctl start docker) or name another one",
  ECONNREFUSED: "nobody listens; start the engine (systemctl start docker)",
  EACCES: "this user may not use it; add it to the group that owns the socket (usermod -aG docker)",
};

/** Every failure of an engine as one of the port's two; ours pass, and so does an abort. */
export function toAppError(error: unknown, connection: Connection, signal?: AbortSignal): Error {
  if (error instanceof AppError) return error;
  if (signal?.aborted === true) return signal.reason instanceof Error ? signal.reason : new Error("aborted");
  const { statusCode, code, message } = error as EngineError;
  if (statusCode === 400) return new AppError("sandbox.rejected", message.trim(), { cause: error });
  if (statusCode === 404) return new AppError("sandbox.unavailable", "there is no such sandbox", { cause: error });
  if (statusCode === 409)
    return new AppError("sandbox.unavailable", "the sandbox is stopped or paused", { cause: error });
  if (statusCode !== undefined) return new AppError("sandbox.unavailable", message.trim(), { cause: error });
  const advice = AWAY[code ?? ""] ?? message;
  return new AppError("sandbox.unavailable", `no container engine answers at ${connection.host}: ${advice}`, {
    cause: error,
  });
}

const ANSWER_MS = 10_000;

/** An engine that is away is an error of whoever wants it now, not of a sandbox that is made later. */
export async function requireEngine(connection: Connection): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${ANSWER_MS / 1_000} s`)), ANSWER_MS);
  try {
    await Promise.race([connection.docker.ping(), late.promise]);
  } catch (error) {
    throw new AppError("provider.unavailable", toAppError(error, connection).message, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
