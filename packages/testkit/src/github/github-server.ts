/** GitHub as far as Drover uses it: its API with pages, limits and moods, and its repositories over smart HTTP, on loopback. */
import { spawn } from "node:child_process";
import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { AppError, type ProjectId } from "@drover/contract";
import { openBareRepositories } from "../../../server/src/adapters/git-bare.ts";
import { openBuiltinHost } from "../../../server/src/adapters/git-builtin.ts";
import type { HostedRepository, HostPullRequest } from "../../../server/src/ports/git-host.ts";
import { complainOfAnswer, complainOfRequest } from "./published-api.ts";

const { signal } = new AbortController();
export const OWNER = "herd";

export interface Fault {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Only a call of this path, so that nobody else takes it. */
  readonly path?: string;
}

/** A webhook that was sent, and what came back. */
export interface SentWebhook {
  readonly action: string;
  readonly status: number;
  readonly answer: string;
}

export interface GitHubServer extends AsyncDisposable {
  readonly apiUrl: string;
  readonly webUrl: string;
  readonly token: string;
  /** What in requests or answers is not as GitHub publishes it. */
  readonly complaints: readonly string[];
  /** Every credential that was shown to it. */
  readonly seenCredentials: ReadonlySet<string>;
  /** The calls so far, as `METHOD /path`. */
  readonly calls: readonly string[];
  createRepository(name: string): Promise<{ readonly gitDir: string }>;
  /** The next calls of the API are answered so, one each. */
  failNext(...faults: readonly Fault[]): void;
  /** Those that nobody has met. */
  pendingFaults(): readonly Fault[];
  /** How often `mergeable` is null before it is known. */
  thinkAbout(times: number): void;
  /** From now on pull requests that are opened or merged are told there, before whoever did it has an answer. */
  tellOf(url: string, secret: string, told?: (action: string) => Promise<void>): void;
  readonly webhooks: readonly SentWebhook[];
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Pages are small, so that nobody gets away with reading one. */
const PAGE_LIMIT = 10;
const NOT_FOUND: Answer = { status: 404, body: { message: "Not Found" } };

const toRepo = (name: string): HostedRepository => ({
  projectId: name as ProjectId,
  importFrom: null,
  owner: null,
  name: null,
  token: null,
});

export async function startGitHub(folder: string, token = "ghp_the-token-of-the-tests"): Promise<GitHubServer> {
  const root = join(folder, "github");
  const objects = openBareRepositories(root);
  const host = openBuiltinHost(root, objects);
  const complaints: string[] = [];
  const seenCredentials = new Set<string>();
  const calls: string[] = [];
  const names = new Set<string>();
  const faults: Fault[] = [];
  const webhooks: SentWebhook[] = [];
  let hook: { readonly url: string; readonly secret: string; told(action: string): Promise<void> } | undefined;
  let thoughts = 0;
  const asked = new Map<string, number>();
  let url = "";

  const toPull = (name: string, pull: HostPullRequest, isWhole: boolean) => {
    const key = `${name} ${pull.number} ${pull.headCommit}`;
    const times = asked.get(key) ?? 0;
    if (isWhole) asked.set(key, times + 1);
    const isMerged = pull.state === "merged";
    return {
      number: pull.number,
      title: pull.title,
      body: pull.body,
      state: pull.state === "open" ? "open" : "closed",
      html_url: `${url}/${OWNER}/${name}/pull/${pull.number}`,
      merged_at: isMerged ? "2026-01-01T00:00:00Z" : null,
      merge_commit_sha: pull.mergeCommit ?? pull.headCommit,
      head: { ref: pull.head, sha: pull.headCommit, label: `${OWNER}:${pull.head}` },
      base: { ref: pull.base, label: `${OWNER}:${pull.base}` },
      ...(isWhole ? { merged: isMerged, mergeable: times < thoughts ? null : pull.isMergeable } : {}),
    };
  };

  const tell = async (name: string, number: number, action: "opened" | "closed") => {
    const pull = await host.loadPullRequest(toRepo(name), number, signal);
    if (hook === undefined || pull === undefined) return;
    const told = { ...toPull(name, pull, false), merged: pull.state === "merged" };
    const text = JSON.stringify({ action, repository: { name, owner: { login: OWNER } }, pull_request: told });
    const answered = await fetch(hook.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-github-event": "pull_request",
        "x-github-delivery": randomUUID(),
        "x-hub-signature-256": `sha256=${createHmac("sha256", hook.secret).update(text).digest("hex")}`,
      },
      body: text,
    });
    webhooks.push({ action, status: answered.status, answer: await answered.text() });
    await hook.told(action);
  };

  const toPage = (path: string, query: URLSearchParams, items: readonly unknown[]): Answer => {
    const size = Math.min(Number(query.get("per_page") ?? 30), PAGE_LIMIT);
    const page = Number(query.get("page") ?? 1);
    const next = new URLSearchParams(query);
    next.set("page", String(page + 1));
    const hasMore = items.length > page * size;
    return {
      status: 200,
      body: items.slice((page - 1) * size, page * size),
      headers: hasMore ? { link: `<${url}/api${path}?${next.toString()}>; rel="next"` } : {},
    };
  };

  const listPulls = async (name: string): Promise<readonly HostPullRequest[]> => {
    const found: HostPullRequest[] = [];
    for (let number = 1; ; number += 1) {
      const pull = await host.loadPullRequest(toRepo(name), number, signal);
      if (pull === undefined) return found;
      found.push(pull);
    }
  };

  const refuse = (error: unknown): Answer => {
    if (!(error instanceof AppError)) throw error;
    return { status: error.code === "git.conflict" ? 405 : 422, body: { message: "Validation Failed" } };
  };

  const answer = async (
    method: string,
    path: string,
    query: URLSearchParams,
    // oxlint-disable-next-line typescript/no-explicit-any -- checked against the published description before
    body: any,
  ): Promise<Answer> => {
    const [, owner, name = "", rest = ""] = /^\/repos\/([^/]+)\/([^/]+)\/?(.*)$/.exec(path) ?? [];
    if (owner !== OWNER || !names.has(name)) return NOT_FOUND;
    const repo = toRepo(name);
    const resolve = (ref: string) => objects.resolve(name, ref, signal);
    if (rest === "") return { status: 200, body: { name, default_branch: "main", full_name: `${OWNER}/${name}` } };
    if (rest === "branches") {
      const branches = await host.listBranches(repo, signal);
      const items = branches.map((one) => ({ name: one.name, commit: { sha: one.commit, url: "" }, protected: false }));
      return toPage(path, query, items);
    }
    const [, head] = /^git\/refs?\/heads(?:\/|%2F)(.+)$/.exec(rest) ?? [];
    if (head !== undefined) {
      const ref = `refs/heads/${decodeURIComponent(head)}`;
      const sha = await resolve(ref);
      if (sha === undefined)
        return method === "GET" ? NOT_FOUND : { status: 422, body: { message: "Reference does not exist" } };
      if (method === "GET")
        return { status: 200, body: { ref, node_id: "", url: "", object: { type: "commit", sha, url: "" } } };
      await host.ensureBranchGone(repo, decodeURIComponent(head), signal);
      return { status: 204 };
    }
    if (rest === "git/refs") {
      const known = await resolve(body.ref);
      if (known !== undefined) return { status: 422, body: { message: "Reference already exists" } };
      await host.ensureBranch(repo, String(body.ref).replace("refs/heads/", ""), body.sha, signal);
      return { status: 201, body: { ref: body.ref, object: { type: "commit", sha: body.sha, url: "" } } };
    }
    if (rest === "pulls" && method === "GET") {
      const wanted = (await listPulls(name)).filter(
        (one) =>
          (query.get("state") !== "open" || one.state === "open") &&
          (query.get("head") ?? `${OWNER}:${one.head}`) === `${OWNER}:${one.head}` &&
          (query.get("base") ?? one.base) === one.base,
      );
      return toPage(
        path,
        query,
        wanted.map((one) => toPull(name, one, false)),
      );
    }
    if (rest === "pulls") {
      const open = (await listPulls(name)).some((one) => one.state === "open" && one.head === body.head);
      const { aheadBy } = await objects.compare(name, body.base, body.head, signal);
      if (open || aheadBy === 0) return { status: 422, body: { message: "Validation Failed" } };
      const spec = { title: body.title, body: body.body, head: body.head, base: body.base };
      const pull = await host.ensurePullRequest(repo, spec, signal);
      await tell(name, pull.number, "opened");
      return { status: 201, body: toPull(name, pull, true) };
    }
    const [, pullNumber, merge] = /^pulls\/(\d+)(\/merge)?$/.exec(rest) ?? [];
    if (pullNumber !== undefined) {
      const number = Number(pullNumber);
      const pull = await host.loadPullRequest(repo, number, signal);
      if (pull === undefined) return NOT_FOUND;
      if (merge !== undefined) {
        if (body.sha !== undefined && body.sha !== pull.headCommit)
          return { status: 409, body: { message: "Head branch was modified. Review and try the merge again." } };
        const title = body.commit_title ?? pull.title;
        const spec = { method: body.merge_method ?? "merge", title, headCommit: pull.headCommit ?? "" };
        return host.ensureMerged(repo, number, spec, signal).then(async ({ commit }): Promise<Answer> => {
          await tell(name, number, "closed");
          return { status: 200, body: { sha: commit, merged: true, message: "merged" } };
        }, refuse);
      }
      if (method === "PATCH") await host.ensureClosed(repo, number, signal);
      const now = await host.loadPullRequest(repo, number, signal);
      return { status: 200, body: toPull(name, now ?? pull, true) };
    }
    const [, sha] = /^statuses\/([0-9a-f]{40})$/.exec(rest) ?? [];
    if (sha !== undefined) {
      const { context = "default", state, description = "", target_url: target = null } = body;
      await host.ensureStatus(repo, sha, { context, state, description, url: target }, signal);
      return { status: 201, body: { context, state, description, target_url: target } };
    }
    const [, commit] = /^commits\/([0-9a-f]{40})\/status$/.exec(rest) ?? [];
    if (commit !== undefined) {
      const statuses = await host.listStatuses(repo, commit, signal);
      const items = statuses.map((one) => ({
        context: one.context,
        state: one.state,
        description: one.description,
        target_url: one.url,
      }));
      const { body: page } = toPage(path, query, items);
      return { status: 200, body: { state: "pending", sha: commit, total_count: items.length, statuses: page } };
    }
    return NOT_FOUND;
  };

  const serveApi = async (request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams) => {
    const method = request.method ?? "";
    const text = (await buffer(request)).toString("utf8");
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    calls.push(`${method} ${path}`);
    complaints.push(...complainOfRequest(method, path, query, body));
    const shown = /^(?:token|bearer) (.+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
    seenCredentials.add(shown);
    const at = faults.findIndex((one) => one.path === undefined || one.path === path);
    const [fault] = at === -1 ? [] : faults.splice(at, 1);
    const given: Answer =
      fault !== undefined
        ? { status: fault.status, headers: fault.headers ?? {}, body: { message: "no" } }
        : shown !== token
          ? { status: 401, body: { message: "Bad credentials" } }
          : await answer(method, path, query, body);
    complaints.push(...complainOfAnswer(method, path, given.status, given.body));
    response.writeHead(given.status, { "content-type": "application/json; charset=utf-8", ...given.headers });
    response.end(given.body === undefined ? undefined : JSON.stringify(given.body));
  };

  const serveGit = (request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams) => {
    const [, name = "", rest = ""] = /^\/herd\/([^/]+)\.git\/(.+)$/.exec(path) ?? [];
    const basic = /^basic (.+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const shown = Buffer.from(basic, "base64")
      .toString("utf8")
      .replace(/^[^:]*:/, "");
    seenCredentials.add(shown);
    if (shown !== token) return void response.writeHead(401, { "www-authenticate": "Basic" }).end();
    if (!names.has(name)) return void response.writeHead(404).end();
    const isListing = rest === "info/refs";
    const service = isListing ? (query.get("service") ?? "") : rest;
    if (service !== "git-upload-pack" && service !== "git-receive-pack") return void response.writeHead(404).end();
    const more = isListing ? ["--http-backend-info-refs"] : [];
    const child = spawn("git", [service.slice(4), "--stateless-rpc", ...more, join(root, `${name}.git`)]);
    child.stderr.resume();
    child.stdin.on("error", () => undefined);
    response.writeHead(200, { "content-type": `application/x-${service}-${isListing ? "advertisement" : "result"}` });
    if (isListing) {
      const line = `# service=${service}\n`;
      response.write(`${(line.length + 4).toString(16).padStart(4, "0")}${line}0000`);
    }
    // Git packs what it asks for once that is long.
    const isPacked = request.headers["content-encoding"] === "gzip";
    (isPacked ? request.pipe(createGunzip()) : request).pipe(child.stdin);
    child.stdout.pipe(response);
  };

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (!pathname.startsWith("/api/")) return serveGit(request, response, pathname, searchParams);
    serveApi(request, response, pathname.slice("/api".length), searchParams).catch((error: unknown) => {
      complaints.push(`the server failed: ${String(error)}`);
      response.writeHead(500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    apiUrl: `${url}/api`,
    webUrl: url,
    token,
    complaints,
    seenCredentials,
    calls,
    createRepository: async (name) => {
      await host.ensureRepository(toRepo(name), signal);
      names.add(name);
      return { gitDir: join(root, `${name}.git`) };
    },
    failNext: (...given) => void faults.push(...given),
    pendingFaults: () => [...faults],
    thinkAbout: (times) => {
      thoughts = times;
    },
    tellOf: (target, secret, told = async () => undefined) => {
      hook = { url: target, secret, told };
    },
    webhooks,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
