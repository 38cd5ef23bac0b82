/** Terminals as Daytona's toolbox serves them. `script` gives the terminal, `stty` its size. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import type { WebSocket } from "ws";
import { Refusal, type Route } from "./http-answer.ts";

const ENVS = "X-Daytona-Pty-Envs~";

interface TerminalSession {
  readonly child: ChildProcess;
  readonly ttyFile: string;
  readonly info: {
    readonly id: string;
    active: boolean;
    cols: number;
    rows: number;
    readonly cwd: string;
    readonly envs: Readonly<Record<string, string>>;
    readonly createdAt: string;
    readonly lazyStart: boolean;
  };
}

/** Variables travel in the name of a subprotocol. */
const readEnvs = (protocols: string): Readonly<Record<string, string>> => {
  const found = protocols.split(",").find((protocol) => protocol.trim().startsWith(ENVS));
  return found === undefined ? {} : JSON.parse(Buffer.from(found.trim().slice(ENVS.length), "base64url").toString());
};

export interface Terminals {
  readonly routes: readonly Route[];
  connect(socket: WebSocket, query: URLSearchParams, protocols: string): void;
}

export function openTerminals(): Terminals {
  const sessions = new Map<string, TerminalSession>();
  const find = (id: string): TerminalSession => {
    const session = sessions.get(id);
    if (session === undefined) throw new Refusal(404, "PTY session not found", "NOT_FOUND");
    return session;
  };

  const routes: readonly Route[] = [
    {
      method: "DELETE",
      path: /^\/process\/pty\/([^/]+)$/,
      answer: ({ parts: [id = ""] }) => {
        // The shell inside has a session of its own and ends with its terminal.
        find(id).child.kill("SIGKILL");
        return { status: 200, body: { message: "PTY session deleted" } };
      },
    },
    {
      method: "GET",
      path: /^\/process\/pty\/([^/]+)$/,
      answer: ({ parts: [id = ""] }) => ({ status: 200, body: find(id).info }),
    },
    {
      method: "POST",
      path: /^\/process\/pty\/([^/]+)\/resize$/,
      answer: ({ parts: [id = ""], json }) => {
        const { info, ttyFile } = find(id);
        const { cols, rows } = json();
        Object.assign(info, { cols, rows });
        const tty = readFileSync(ttyFile, "utf8").trim();
        spawnSync("stty", ["-F", tty, "cols", String(cols), "rows", String(rows)]);
        return { status: 200, body: info };
      },
    },
  ];

  const connect = (socket: WebSocket, query: URLSearchParams, protocols: string) => {
    const id = query.get("id") ?? "";
    const [cols, rows] = [Number(query.get("cols")), Number(query.get("rows"))];
    const cwd = query.get("cwd") ?? "/workspace";
    const envs = readEnvs(protocols);
    const ttyFile = `/run/tty-${id}`;
    const shell = `tty > ${ttyFile}; stty cols ${cols} rows ${rows}; exec bash -i`;
    const child = spawn("script", ["-qefc", shell, "/dev/null"], {
      cwd,
      env: { ...process.env, ...envs },
      stdio: "pipe",
    });
    const createdAt = new Date().toISOString();
    const info = { id, active: true, cols, rows, cwd, envs, createdAt, lazyStart: false };
    sessions.set(id, { child, ttyFile, info });
    // Without `tty` in its file a size could not be set.
    child.stdout.once("data", () => socket.send(JSON.stringify({ type: "control", status: "connected" })));
    child.stdout.on("data", (chunk: Buffer) => socket.send(chunk));
    child.stdin.on("error", () => undefined);
    socket.on("message", (bytes) => child.stdin.write(bytes as Buffer));
    socket.once("close", () => child.kill("SIGKILL"));
    child.once("close", (code) => {
      info.active = false;
      socket.send(JSON.stringify({ type: "control", status: "exited", exitCode: code ?? 137 }));
      socket.close(1000);
    });
  };
  return { routes, connect };
}
