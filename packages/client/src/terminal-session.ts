/** A terminal in a sandbox, over its socket. */
import { API_BASE, TerminalServerFrame } from "@drover/contract";
import { ClientError, type ClientErrorCode } from "./client-error.ts";

export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  readonly onOutput: (bytes: Uint8Array) => void;
}

export interface TerminalSession {
  write(bytes: Uint8Array): void;
  resize(columns: number, rows: number): void;
  close(): void;
  /** How the shell ended; `code` is null when the terminal was closed before. Rejects when it was cut off. */
  readonly ended: Promise<{ readonly code: number | null }>;
}

interface Where {
  readonly baseUrl: string;
  readonly token: string | undefined;
  readonly WebSocket: typeof globalThis.WebSocket;
}

const CODES: Readonly<Record<number, ClientErrorCode>> = {
  4401: "auth.required",
  4403: "auth.forbidden",
  4404: "sandbox.not_found",
  4409: "sandbox.illegal_transition",
  4422: "sandbox.rejected",
  1013: "sandbox.unavailable",
};

const toAddress = (baseUrl: string, sandboxId: string, { columns, rows }: TerminalOptions): string => {
  const base = baseUrl === "" ? globalThis.location.origin : baseUrl;
  return `${base.replace(/^http/, "ws")}${API_BASE}/sandboxes/${encodeURIComponent(sandboxId)}/pty?columns=${columns}&rows=${rows}`;
};

function parseText(text: string): TerminalServerFrame | undefined {
  try {
    return TerminalServerFrame.safeParse(JSON.parse(text)).data;
  } catch {
    // Expected: a frame of a newer server that is no JSON; it is not for us.
    return undefined;
  }
}

/** Resolves when what is typed reaches the shell. */
export function openTerminal(where: Where, sandboxId: string, options: TerminalOptions): Promise<TerminalSession> {
  const socket = new where.WebSocket(toAddress(where.baseUrl, sandboxId, options));
  socket.binaryType = "arraybuffer";
  const opened = Promise.withResolvers<TerminalSession>();
  const ended = Promise.withResolvers<{ code: number | null }>();
  // Whoever only opens it hears of the refusal from `opened`.
  ended.promise.catch(() => undefined);
  let complaint: string | undefined;
  let isClosing = false;
  const session: TerminalSession = {
    write: (bytes) => {
      if (socket.readyState === 1) socket.send(Uint8Array.from(bytes));
    },
    resize: (columns, rows) => {
      if (socket.readyState === 1) socket.send(JSON.stringify({ type: "resize", columns, rows }));
    },
    close: () => {
      isClosing = true;
      socket.close();
    },
    ended: ended.promise,
  };
  socket.onopen = () => {
    if (where.token !== undefined) socket.send(JSON.stringify({ type: "auth", token: where.token }));
  };
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data !== "string") return options.onOutput(new Uint8Array(data));
    const frame = parseText(data);
    if (frame === undefined) return;
    if ("error" in frame) complaint = String(frame.error);
    else if (frame.type === "ready") opened.resolve(session);
    else ended.resolve({ code: frame.code as number | null });
  };
  socket.onclose = ({ code }) => {
    const known = CODES[code] ?? "client.unreachable";
    const detail = complaint ?? (known === "client.unreachable" ? "the connection to the terminal was cut" : undefined);
    const refusal = new ClientError(known, detail, { status: code >= 4_000 ? code - 4_000 : 0 });
    opened.reject(refusal);
    if (isClosing) ended.resolve({ code: null });
    else ended.reject(refusal);
  };
  return opened.promise;
}
