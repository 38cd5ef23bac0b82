/** Smart HTTP: clones, fetches and pushes of Git clients, for sandboxes and people. */
import { PassThrough, Readable, Transform } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { API_BASE, AppError, ProjectId } from "@drover/contract";
import type { Principal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import {
  advertise,
  openGitAccess,
  receivePack,
  recordPush,
  refusePush,
  toPushLimit,
  uploadPack,
  type GitAccess,
} from "../app/serve-git.ts";
import { onClosed, signalOf } from "./hang-up.ts";
import { readPushHead, toPacket, toRefusalReport, type PushHead } from "./pkt-line.ts";
import { resolvePrincipal } from "./authorise.ts";
import { toAppError, toProblem } from "./problem.ts";

/** What a client may say when it fetches: what it wants and what it has. */
const WANT_LIMIT_BYTES = 16 * 1024 * 1024;
/** What `git receive-pack` may answer. */
const ANSWER_LIMIT_BYTES = 4 * 1024 * 1024;
/** What is over the limit is still read for a while, so that the client gets its answer instead of a broken pipe. */
const DRAIN_LIMIT_BYTES = 256 * 1024 * 1024;
/** Exchanges of one caller at once. */
const AT_ONCE = 8;

type Service = "git-upload-pack" | "git-receive-pack";

const isService = (text: unknown): text is Service => text === "git-upload-pack" || text === "git-receive-pack";

/** Git clients send a name and a password; the password is the token, the name is anything. */
function toHeaders(request: FastifyRequest) {
  const { authorization, cookie } = request.headers;
  const [, basic] = /^basic +(\S+)$/i.exec(authorization ?? "") ?? [];
  if (basic === undefined) return { authorization, cookie };
  const pair = Buffer.from(basic, "base64").toString("utf8");
  return { authorization: `Bearer ${pair.slice(pair.indexOf(":") + 1)}` };
}

function parseProject(request: FastifyRequest): ProjectId {
  const { repository = "" } = request.params as { repository?: string };
  const id = ProjectId.safeParse(repository.replace(/\.git$/, ""));
  if (!id.success) throw new AppError("project.not_found");
  return id.data;
}

/** Bytes beyond the limit end it with `request.too_large`. */
function toBounded(source: Readable, limitBytes: number, what: string): Transform {
  let size = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size <= limitBytes) return done(null, chunk);
      done(new AppError("request.too_large", what));
    },
  });
  // Not packed as it says, or hung up in the middle.
  source.once("error", (cause) => bounded.destroy(new AppError("request.malformed", "the body breaks off", { cause })));
  return source.pipe(bounded);
}

const toBody = (request: FastifyRequest): Readable => {
  if (request.headers["content-encoding"] !== "gzip") return request.raw;
  const unpacked = createGunzip();
  request.raw.once("error", (error) => unpacked.destroy(error));
  return request.raw.pipe(unpacked);
};

/** Reads on for a while what nobody wants, so that the answer is heard; then hangs up. */
function drain(request: FastifyRequest): void {
  let size = 0;
  request.raw.unpipe();
  request.raw.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > DRAIN_LIMIT_BYTES) request.raw.destroy();
  });
  request.raw.resume();
}

const toMegabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;

export async function mountGitEndpoint(app: FastifyInstance, deps: Deps, stopping: AbortSignal): Promise<void> {
  const busy = new Map<string, number>();

  const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const refusal = toAppError(error);
    const problem = toProblem(refusal, request.id, deps.log);
    if (problem.status === 401) void reply.header("www-authenticate", 'Basic realm="drover", charset="UTF-8"');
    if (problem.status === 503 || problem.status === 429)
      void reply.header("retry-after", refusal.retryAfterSeconds ?? 1);
    void reply.status(problem.status);
    // A Git client shows plain text to its user, and nothing else.
    if (request.headers["user-agent"]?.startsWith("git/") === true)
      return reply.type("text/plain; charset=utf-8").send(`${problem.detail}\n`);
    return reply.type("application/problem+json").send(JSON.stringify(problem));
  };

  /** Before anything else: who has no credential learns nothing, not even what a request lacks. */
  const identify = async (request: FastifyRequest): Promise<Principal> => {
    const principal = await resolvePrincipal(deps, toHeaders(request));
    if (principal === undefined) throw new AppError("auth.required");
    return principal;
  };

  const enter = async (
    request: FastifyRequest,
    reply: FastifyReply,
    principal: Principal,
    service: Service,
    signal: AbortSignal,
  ) => {
    const who = toCaller(principal);
    const count = (busy.get(who) ?? 0) + 1;
    if (count > AT_ONCE)
      throw new AppError("request.rate_limited", "too many exchanges at once", { retryAfterSeconds: 1 });
    busy.set(who, count);
    onClosed(reply.raw, () => {
      const left = (busy.get(who) ?? 1) - 1;
      if (left === 0) busy.delete(who);
      else busy.set(who, left);
    });
    return openGitAccess(deps, principal, parseProject(request), service, signal);
  };

  const toSignal = (reply: FastifyReply) => signalOf(reply.raw, [stopping]);

  const receive = async (request: FastifyRequest, access: GitAccess, signal: AbortSignal): Promise<Buffer> => {
    const limit = toPushLimit(deps);
    const body = toBounded(toBody(request), limit, `the push is larger than ${toMegabytes(limit)}`);
    const failed = new Promise<never>((_, reject) => body.once("error", reject));
    failed.catch(() => undefined);
    const head = await Promise.race([readPushHead(body), failed]);
    // Git asks with nothing whether it may before it sends much.
    if (head.commands.length === 0) return Buffer.alloc(0);
    const refusals = refusePush(access, head.commands);
    if (refusals.length > 0) {
      drain(request);
      const reasons = new Map(refusals.map(({ ref, reason }) => [ref, reason]));
      return toRefusalReport(head, reasons, [...new Set(reasons.values())].join("\n"));
    }
    try {
      return await Promise.race([accept(access, head, body, signal), failed]);
    } catch (error) {
      // Expected: too large, or the host would not have it. Whatever it is, the client hears of it in its own words.
      drain(request);
      const refusal = toAppError(error);
      if (refusal.code === "server.failed") toProblem(refusal, request.id, deps.log);
      return toRefusalReport(head, new Map(head.commands.map(({ ref }) => [ref, "refused"])), refusal.message);
    }
  };

  const accept = async (access: GitAccess, head: PushHead, rest: Readable, signal: AbortSignal): Promise<Buffer> => {
    const stop = new AbortController();
    const input = new PassThrough();
    input.write(head.bytes);
    rest.pipe(input);
    rest.once("error", () => stop.abort());
    const ending = AbortSignal.any([signal, stop.signal]);
    return access.git.host.hold(access.git.repo, async () => {
      const output = await receivePack(deps, access, head.commands, input, ending);
      const answer = await buffer(toBounded(output, ANSWER_LIMIT_BYTES, "Git answers too much"));
      await recordPush(deps, access, head.commands, signal);
      return answer;
    });
  };

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null, undefined));
    scope.setErrorHandler(answerError);
    for (const base of [`${API_BASE}/git/:repository`, "/git/:repository"]) {
      scope.get(`${base}/info/refs`, async (request, reply) => {
        const { service } = request.query as { service?: unknown };
        const principal = await identify(request);
        if (!isService(service))
          throw new AppError("request.invalid", "only clients of Git's smart protocol are served");
        const signal = toSignal(reply);
        const access = await enter(request, reply, principal, service, signal);
        const refs = advertise(deps, access, service, Readable.from([]), signal);
        const output = new PassThrough();
        output.write(Buffer.concat([toPacket(`# service=${service}\n`), Buffer.from("0000")]));
        refs.once("error", (error) => output.destroy(error));
        return reply
          .type(`application/x-${service}-advertisement`)
          .header("cache-control", "no-store")
          .send(refs.pipe(output));
      });
      scope.post(`${base}/git-upload-pack`, async (request, reply) => {
        const signal = toSignal(reply);
        const access = await enter(request, reply, await identify(request), "git-upload-pack", signal);
        const wants = toBounded(toBody(request), WANT_LIMIT_BYTES, "the client says too much");
        wants.once("error", () => reply.raw.destroy());
        return reply
          .type("application/x-git-upload-pack-result")
          .header("cache-control", "no-store")
          .send(uploadPack(deps, access, wants, signal));
      });
      scope.post(`${base}/git-receive-pack`, async (request, reply) => {
        const signal = toSignal(reply);
        const access = await enter(request, reply, await identify(request), "git-receive-pack", signal);
        const answer = await receive(request, access, signal);
        return reply.type("application/x-git-receive-pack-result").header("cache-control", "no-store").send(answer);
      });
    }
  });
}

const toCaller = (principal: Principal) => (principal.kind === "person" ? principal.tokenId : principal.sandboxId);
