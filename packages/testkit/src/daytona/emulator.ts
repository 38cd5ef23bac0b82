/**
 * Daytona on this machine, for tests with its real SDK: sandboxes run real processes (in bubblewrap), and every request and answer
 * is checked against what the SDK's packages publish (`published-api.ts`). `complaints` must be empty after a test.
 */
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openControlPlane, type ControlPlane } from "./control-plane.ts";
import { planFaults, type Fault, type Faults } from "./faults.ts";
import { answerFrom, readBody, Refusal, sendAnswer, type Answer } from "./http-answer.ts";
import { readPublishedApis, type PublishedApi } from "./published-api.ts";

export interface Asking {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

export interface DaytonaEmulator extends AsyncDisposable {
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly faults: Faults;
  /** Everything that was asked so far. */
  readonly requests: readonly Asking[];
  /** What differed from the published interface. */
  readonly complaints: readonly string[];
}

const JSON_TYPE = /^application\/json/;

/** Undefined for what is not JSON. */
const parseBody = (type: string | undefined, bytes: Buffer): unknown =>
  bytes.length > 0 && JSON_TYPE.test(type ?? "") ? JSON.parse(bytes.toString()) : undefined;

const toError = (error: unknown, source: string): Answer => {
  const { status, message, code } = error instanceof Refusal ? error : new Refusal(500, String(error));
  const timestamp = new Date().toISOString();
  return { status, body: { statusCode: status, message, ...(code !== undefined && { code }), source, timestamp } };
};

/** The toolbox's own answer, unchanged. The body goes on in one piece, however it came. */
function forward(socketPath: string, path: string, request: IncomingMessage, bytes: Buffer): Promise<Answer> {
  const { "transfer-encoding": _encoding, ...headers } = request.headers;
  const options = { socketPath, path, method: request.method, headers: { ...headers, "content-length": bytes.length } };
  return new Promise((resolve, reject) => {
    const forwarded = ask(options, (answer) => {
      const type = answer.headers["content-type"] ?? "";
      const done = (raw: Buffer) => resolve({ status: answer.statusCode ?? 500, raw: { type, bytes: raw } });
      readBody(answer).then(done, reject);
    });
    forwarded.once("error", () => reject(new Refusal(502, "the sandbox does not answer", "BAD_GATEWAY")));
    forwarded.end(bytes);
  });
}

/** Both directions, until one side ends. */
function tunnel(request: IncomingMessage, path: string, client: Socket, head: Buffer, socketPath: string): void {
  const toolbox = connect(socketPath);
  const lines = [`GET ${path} HTTP/1.1`];
  for (let index = 0; index < request.rawHeaders.length; index += 2)
    lines.push(`${request.rawHeaders[index]}: ${request.rawHeaders[index + 1]}`);
  toolbox.write(`${lines.join("\r\n")}\r\n\r\n`);
  toolbox.write(head);
  toolbox.pipe(client).pipe(toolbox);
  for (const socket of [toolbox, client]) socket.on("error", () => undefined);
  toolbox.once("close", () => client.destroy());
  client.once("close", () => toolbox.destroy());
}

interface Place {
  readonly path: string;
  readonly published: PublishedApi;
  readonly isToolbox: boolean;
  readonly answer: (request: IncomingMessage, bytes: Buffer) => Promise<Answer>;
}

/** Where a request leads: `/api/…`, or `/toolbox/<id>/…`. */
function findPlace(control: ControlPlane, url: URL): Place | undefined {
  const published = readPublishedApis();
  if (url.pathname.startsWith("/api/")) {
    const path = url.pathname.slice("/api".length);
    const answer = (request: IncomingMessage, bytes: Buffer) => answerFrom(control.routes, request, path, bytes);
    return { path, published: published.control, isToolbox: false, answer };
  }
  const [, id = "", path] = /^\/toolbox\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
  if (path === undefined) return undefined;
  const answer = async (request: IncomingMessage, bytes: Buffer) => {
    const found = control.find(id);
    if (found === undefined) throw new Refusal(404, `Sandbox ${id} not found`, "NOT_FOUND");
    const isAwake = ["started", "snapshotting"].includes(found.record.state);
    if (!isAwake) throw new Refusal(400, "Sandbox is not running", "SANDBOX_NOT_RUNNING");
    return forward(found.cell.socketPath, path + url.search, request, bytes);
  };
  return { path, published: published.toolbox, isToolbox: true, answer };
}

function applyFault(fault: Fault, response: ServerResponse): void {
  if (fault.status === "reset") response.destroy();
  else sendAnswer(response, toError(new Refusal(fault.status, "as the test wants it"), "DAYTONA_API"), fault.headers);
}

export interface EmulatorOptions {
  /** Names of snapshots that are there from the beginning. */
  readonly snapshots: readonly string[];
  readonly sandboxClass?: "container" | "linux-vm";
}

export async function startDaytona(options: EmulatorOptions): Promise<DaytonaEmulator> {
  const directory = await mkdtemp(join(tmpdir(), "drover-daytona-"));
  const apiKey = "the-key-of-the-emulator";
  const faults = planFaults();
  const requests: Asking[] = [];
  const complaints: string[] = [];
  let url = "";
  const control = openControlPlane({
    sandboxClass: "container",
    ...options,
    directory,
    faults,
    toolboxUrl: () => `${url}/toolbox`,
  });

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = await readBody(request);
    const asked = new URL(request.url ?? "/", "http://emulator");
    const method = request.method ?? "GET";
    const body = parseBody(request.headers["content-type"], bytes);
    requests.push({ method, path: asked.pathname, body });
    const fault = faults.take(method, asked.pathname);
    if (fault !== undefined) {
      applyFault(fault, response);
      return;
    }
    const place = findPlace(control, asked);
    if (request.headers.authorization !== `Bearer ${apiKey}` || place === undefined) {
      const refusal =
        place === undefined ? new Refusal(404, "nothing here") : new Refusal(401, "Unauthorized", "UNAUTHORIZED");
      sendAnswer(response, toError(refusal, "DAYTONA_API"));
      return;
    }
    const { path, published } = place;
    const exchange = { method, path, query: asked.searchParams, body };
    complaints.push(...published.complainOfRequest(exchange));
    // Expected: a refusal of ours. The toolbox's own come as answers.
    const answer = await place
      .answer(request, bytes)
      .catch((error: unknown) => toError(error, place.isToolbox ? "DAYTONA_PROXY" : "DAYTONA_API"));
    const told = answer.raw === undefined ? answer.body : parseBody(answer.raw.type, answer.raw.bytes);
    if (answer.status < 400) complaints.push(...published.complainOfAnswer(exchange, told));
    else if (answer.raw !== undefined) complaints.push(...published.complainOfError(told));
    sendAnswer(response, answer);
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      complaints.push(`the emulator failed: ${String(error)}`);
      response.destroy();
    });
  });
  server.on("upgrade", (request, client: Socket, head) => {
    const asked = new URL(request.url ?? "/", "http://emulator");
    const [, id = "", path = ""] = /^\/toolbox\/([^/]+)(\/.*)$/.exec(asked.pathname) ?? [];
    requests.push({ method: "WS", path: asked.pathname, body: undefined });
    const found = control.find(id);
    if (found === undefined || request.headers.authorization !== `Bearer ${apiKey}`) {
      client.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    faults.watchStream(client);
    tunnel(request, path + asked.search, client, head, found.cell.socketPath);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    apiUrl: `${url}/api`,
    apiKey,
    faults,
    requests,
    complaints,
    [Symbol.asyncDispose]: async () => {
      await control.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
