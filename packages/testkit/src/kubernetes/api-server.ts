/**
 * A Kubernetes API server on this machine, for tests with the official client: HTTPS with a token, pods that run real processes (in
 * bubblewrap), exec over the channel protocol, network policies that are stored and not enforced. Every body that comes in and every
 * object that goes out is checked against what Kubernetes publishes. `complaints` must be empty after a test.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { WebSocketServer } from "ws";
import { stringify } from "yaml";
import { planFaults, type Faults } from "./faults.ts";
import { openPods, type Pods } from "./pods.ts";
import { bridge } from "./exec-socket.ts";
import { openPolicies } from "./policies.ts";
import { answerRequest, isAllowed, Refusal, toStatus, type Rule } from "./resources.ts";

const run = promisify(execFile);

export interface Asking {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface KubernetesEmulator extends AsyncDisposable {
  /** A kubeconfig with the address, the authority and the token. */
  readonly configFile: string;
  readonly namespace: string;
  readonly faults: Faults;
  readonly pods: Pods;
  readonly requests: readonly Asking[];
  readonly complaints: readonly string[];
}

export interface EmulatorOptions {
  readonly namespace?: string;
  /** What the token may do in the namespace; everything unless told. */
  readonly rules?: readonly Rule[];
  /** The newest protocol that the server speaks. */
  readonly protocol?: "v5.channel.k8s.io" | "v4.channel.k8s.io";
}

const TOKEN = "the-token-of-the-emulator";
const EVERYTHING: readonly Rule[] = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];

async function makeCertificate(directory: string): Promise<{ key: Buffer; cert: Buffer }> {
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const subject = ["-subj", "/CN=emulator", "-addext", "subjectAltName=IP:127.0.0.1"];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  await run("openssl", ["req", ...kind, ...subject, "-keyout", key, "-out", cert]);
  return { key: await readFile(key), cert: await readFile(cert) };
}

const toKubeconfig = (server: string, cert: Buffer, namespace: string) =>
  stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "emulator", cluster: { server, "certificate-authority-data": cert.toString("base64") } }],
    users: [{ name: "drover", user: { token: TOKEN } }],
    contexts: [{ name: "emulator", context: { cluster: "emulator", user: "drover", namespace } }],
    "current-context": "emulator",
  });

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? undefined : JSON.parse(text);
}

const EXEC = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec$/;
const EXEC_QUERY: ReadonlySet<string> = new Set(["container", "command", "stdin", "stdout", "stderr", "tty"]);

function refuseUpgrade(socket: Socket, refusal: Refusal): void {
  const body = JSON.stringify(toStatus(refusal));
  const head = `HTTP/1.1 ${refusal.status} Refused\r\nconnection: close\r\ncontent-type: application/json`;
  socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

export async function startKubernetes(options: EmulatorOptions = {}): Promise<KubernetesEmulator> {
  const { namespace = "drover-sandboxes", rules = EVERYTHING, protocol = "v5.channel.k8s.io" } = options;
  const directory = await mkdtemp(join(tmpdir(), "drover-kubernetes-"));
  const certificate = await makeCertificate(directory);
  const faults = planFaults();
  const requests: Asking[] = [];
  const complaints: string[] = [];
  const pods = openPods(join(directory, "pods"), faults);
  const world = { namespace, rules, pods, policies: openPolicies(), complaints };

  const send = (response: ServerResponse, status: number, body: unknown, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "https://emulator");
    const method = request.method ?? "GET";
    const asked = { method, path: url.pathname, query: url.searchParams, body: await readBody(request) };
    requests.push(asked);
    const fault = faults.take(method, url.pathname);
    if (fault?.status === "reset") {
      response.destroy();
      return;
    }
    try {
      if (fault !== undefined) throw new Refusal(fault.status as number, "as the test wants it", "InternalError");
      if (request.headers.authorization !== `Bearer ${TOKEN}`) throw new Refusal(401, "Unauthorized", "Unauthorized");
      const { status, body } = await answerRequest(world, asked);
      send(response, status, body);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send(response, error.status, toStatus(error), fault?.headers);
    }
  };

  const server = createServer(certificate, (request, response) => {
    serve(request, response).catch((error: unknown) => {
      complaints.push(`the emulator failed: ${String(error)}`);
      response.destroy();
    });
  });
  const protocols = protocol === "v5.channel.k8s.io" ? [protocol, "v4.channel.k8s.io"] : [protocol];
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => protocols.find((one) => offered.has(one)) ?? false,
  });
  server.on("upgrade", (request: IncomingMessage, client: Socket, head: Buffer) => {
    client.on("error", () => undefined);
    const url = new URL(request.url ?? "/", "https://emulator");
    requests.push({ method: "WS", path: url.pathname, query: url.searchParams, body: undefined });
    const [, space, name = ""] = EXEC.exec(url.pathname) ?? [];
    const unknown = [...url.searchParams.keys()].filter((key) => !EXEC_QUERY.has(key));
    complaints.push(...unknown.map((key) => `exec?${key} is not known`));
    const fault = faults.take("WS", url.pathname);
    if (fault !== undefined) {
      if (fault.status === "reset") client.destroy();
      else refuseUpgrade(client, new Refusal(fault.status, "as the test wants it", "InternalError"));
      return;
    }
    // Newer servers ask for both, whatever the method of the request.
    const mayExec = ["get", "create"].every((verb) => isAllowed(rules, "", "pods/exec", verb));
    const refusal =
      request.headers.authorization !== `Bearer ${TOKEN}`
        ? new Refusal(401, "Unauthorized", "Unauthorized")
        : !mayExec || space !== namespace
          ? new Refusal(403, "pods/exec is forbidden", "Forbidden")
          : pods.find(name) === undefined
            ? new Refusal(404, `pods "${name}" not found`, "NotFound")
            : undefined;
    if (refusal !== undefined) {
      refuseUpgrade(client, refusal);
      return;
    }
    const process = pods.execute(name, url.searchParams.getAll("command"), url.searchParams.get("tty") === "true");
    if (process === undefined) {
      refuseUpgrade(client, new Refusal(500, "container not found", "InternalError"));
      return;
    }
    sockets.handleUpgrade(request, client, head, (socket) => bridge(socket, process, faults.watch(socket)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const configFile = join(directory, "kubeconfig");
  const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(configFile, toKubeconfig(address, certificate.cert, namespace), { mode: 0o600 });

  return {
    configFile,
    namespace,
    faults,
    pods,
    requests,
    complaints,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      await pods.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
