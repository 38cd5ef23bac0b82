/**
 * Commands as Daytona's toolbox runs them. Its log keeps lines: zero bytes are lost, a last line without an end gets one, and a
 * line shows only when it is whole. Unlike there, each command has a shell of its own, so variables do not go from one to the next.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { writeFileSync } from "node:fs";
import type { WebSocket } from "ws";
import { Refusal, type Route } from "./http-answer.ts";

const PREFIXES = { stdout: Buffer.from([1, 1, 1]), stderr: Buffer.from([2, 2, 2]) } as const;
const FRAME_BYTES = 16_384;
const GRACE_MS = 300;
const KILLED = 137;

type Stream = keyof typeof PREFIXES;

interface Command {
  readonly id: string;
  readonly command: string;
  readonly child: ChildProcess;
  readonly log: { readonly stream: Stream; readonly line: Buffer }[];
  /** Emits `line`, and `end` when the streams are closed. */
  readonly events: EventEmitter;
  exitCode: number | undefined;
}

/** Calls back with whole lines, and with the rest when the stream ends. */
function readLines(stream: NodeJS.ReadableStream | null, onLine: (line: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  const take = (line: Buffer) => onLine(Buffer.concat([line.filter((byte) => byte !== 0), Buffer.from("\n")]));
  stream?.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      take(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
  });
  stream?.on("end", () => {
    if (rest.length > 0) take(rest);
  });
}

/** As a file: an argument could not be as long. */
function writeScript(text: string): string {
  const path = `/run/command-${randomUUID()}`;
  writeFileSync(path, text);
  return path;
}

function startCommand(text: string): Command {
  const child = spawn("bash", [writeScript(text)], { detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const command: Command = {
    id: randomUUID(),
    command: text,
    child,
    log: [],
    events: new EventEmitter().setMaxListeners(0),
    exitCode: undefined,
  };
  const keep = (stream: Stream) => (line: Buffer) => {
    command.log.push({ stream, line });
    command.events.emit("line", stream, line);
  };
  readLines(child.stdout, keep("stdout"));
  readLines(child.stderr, keep("stderr"));
  child.stdin?.on("error", () => undefined);
  child.on("close", (code) => {
    command.exitCode = code ?? KILLED;
    command.events.emit("end");
  });
  return command;
}

const untilEnd = (command: Command): Promise<void> =>
  command.exitCode === undefined
    ? new Promise((resolve) => command.events.once("end", () => resolve()))
    : Promise.resolve();

function signalGroup({ child }: Command, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // expected: the group has ended
  }
}

async function endCommand(command: Command): Promise<void> {
  if (command.exitCode !== undefined) return;
  signalGroup(command, "SIGTERM");
  const timer = setTimeout(() => signalGroup(command, "SIGKILL"), GRACE_MS);
  await untilEnd(command);
  clearTimeout(timer);
}

const textOf = ({ log }: Command, ...streams: readonly Stream[]) =>
  Buffer.concat(log.filter(({ stream }) => streams.includes(stream)).map(({ line }) => line)).toString();

const toOutput = (command: Command) => ({
  output: textOf(command, "stdout", "stderr"),
  stdout: textOf(command, "stdout"),
  stderr: textOf(command, "stderr"),
});

const toCommand = ({ id, command, exitCode }: Command) => ({
  id,
  command,
  ...(exitCode !== undefined && { exitCode }),
});

export interface Sessions {
  readonly routes: readonly Route[];
  /** Sends the log so far and what follows, and closes at the end. False: there is no such command. */
  follow(sessionId: string, commandId: string, socket: WebSocket): void;
  has(sessionId: string, commandId: string): boolean;
}

export function openSessions(): Sessions {
  const sessions = new Map<string, Map<string, Command>>();
  const find = (id: string) => sessions.get(id) ?? refuse("session not found");
  const refuse = (message: string): never => {
    throw new Refusal(404, message, "NOT_FOUND");
  };
  const findCommand = (id: string, commandId: string) => find(id).get(commandId) ?? refuse("command not found");
  const toSession = ([sessionId, commands]: readonly [string, Map<string, Command>]) => ({
    sessionId,
    commands: [...commands.values()].map(toCommand),
  });

  const routes: readonly Route[] = [
    {
      method: "POST",
      path: /^\/process\/execute$/,
      answer: async ({ json }) => {
        const { command, cwd, envs, timeout } = json();
        const child = spawn("bash", [writeScript(String(command))], {
          cwd: typeof cwd === "string" ? cwd : "/workspace",
          env: { ...process.env, ...(envs as Record<string, string> | undefined) },
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
        });
        const chunks: Buffer[] = [];
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        let isLate = false;
        const stop = () => {
          isLate = true;
          if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
        };
        const timer = typeof timeout === "number" && timeout > 0 ? setTimeout(stop, timeout * 1_000) : undefined;
        const exitCode = await new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? KILLED)));
        clearTimeout(timer);
        if (isLate) throw new Refusal(408, "command execution timeout", "PROCESS_EXECUTION_TIMEOUT");
        return { status: 200, body: { exitCode, result: Buffer.concat(chunks).toString() } };
      },
    },
    {
      method: "POST",
      path: /^\/process\/session$/,
      answer: ({ json }) => {
        const id = String(json()["sessionId"]);
        if (sessions.has(id)) throw new Refusal(409, "session already exists", "CONFLICT");
        sessions.set(id, new Map());
        return { status: 201 };
      },
    },
    {
      method: "GET",
      path: /^\/process\/session$/,
      answer: () => ({ status: 200, body: [...sessions].map(toSession) }),
    },
    {
      method: "DELETE",
      path: /^\/process\/session\/([^/]+)$/,
      answer: async ({ parts: [id = ""] }) => {
        await Promise.all([...find(id).values()].map(endCommand));
        sessions.delete(id);
        return { status: 204 };
      },
    },
    {
      method: "POST",
      path: /^\/process\/session\/([^/]+)\/exec$/,
      answer: async ({ parts: [id = ""], json }) => {
        const { command: text, runAsync, async: isAsync } = json();
        const command = startCommand(String(text));
        find(id).set(command.id, command);
        if (runAsync === true || isAsync === true) return { status: 202, body: { cmdId: command.id } };
        command.child.stdin?.end();
        await untilEnd(command);
        return { status: 200, body: { cmdId: command.id, exitCode: command.exitCode, ...toOutput(command) } };
      },
    },
    {
      method: "GET",
      path: /^\/process\/session\/([^/]+)\/command\/([^/]+)$/,
      answer: ({ parts: [id = "", commandId = ""] }) => ({ status: 200, body: toCommand(findCommand(id, commandId)) }),
    },
    {
      method: "GET",
      path: /^\/process\/session\/([^/]+)\/command\/([^/]+)\/logs$/,
      answer: ({ parts: [id = "", commandId = ""] }) => ({ status: 200, body: toOutput(findCommand(id, commandId)) }),
    },
  ];

  return {
    routes,
    has: (id, commandId) => sessions.get(id)?.has(commandId) === true,
    follow: (id, commandId, socket) => {
      const command = findCommand(id, commandId);
      const send = (stream: Stream, line: Buffer) => {
        const bytes = Buffer.concat([PREFIXES[stream], line]);
        for (let start = 0; start < bytes.length; start += FRAME_BYTES)
          socket.send(bytes.subarray(start, start + FRAME_BYTES));
      };
      for (const { stream, line } of command.log) send(stream, line);
      const close = () => socket.close(1000);
      if (command.exitCode !== undefined) {
        close();
        return;
      }
      command.events.on("line", send);
      command.events.once("end", close);
      socket.once("close", () => {
        command.events.off("line", send);
        command.events.off("end", close);
      });
    },
  };
}
