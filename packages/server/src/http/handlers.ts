/** Which use case answers which endpoint. A missing one is a type error, not a 404. */
import { gzip } from "node:zlib";
import { promisify } from "node:util";
import { AppError } from "@drover/contract";
import { installAgentPackage, listAgentPackages, removeAgentPackage } from "../app/agent-packages.ts";
import { ackMessage } from "../app/ack-message.ts";
import { broadcastMessage } from "../app/broadcast-message.ts";
import { cancelSandbox, terminateSandbox } from "../app/end-sandbox.ts";
import { execCommand } from "../app/exec-command.ts";
import { openArtifact, putArtifact, readFileDiff } from "../app/keep-artifacts.ts";
import { listFiles } from "../app/list-files.ts";
import { pageMessages } from "../app/list-messages.ts";
import { listRecordings } from "../app/list-recordings.ts";
import { answerRequest, pagePermissions } from "../app/manage-permissions.ts";
import { changeProject, createProject, getProject, pageProjects } from "../app/manage-projects.ts";
import {
  countByState,
  createSandbox,
  forkSandbox,
  pageSandboxes,
  readSandbox,
  replaceWorker,
} from "../app/manage-sandboxes.ts";
import { createTicket, createToken, endToken, login, logout, pageTokens, toWhoami } from "../app/manage-tokens.ts";
import { pauseSandbox, resumeSandbox } from "../app/pause-sandbox.ts";
import { createPreview } from "../app/preview-sandbox.ts";
import { pruneSandboxes } from "../app/prune-sandboxes.ts";
import { pageAllEvents, pageSandboxEvents, readTrajectory } from "../app/read-events.ts";
import { listFilesAt, readFileAt } from "../app/read-checkpoint.ts";
import { readFile } from "../app/read-file.ts";
import { readLogs } from "../app/read-logs.ts";
import { readSpine } from "../app/read-spine.ts";
import { openRestored } from "../app/resume-run.ts";
import { readProviders } from "../app/read-providers.ts";
import { readStateAt } from "../app/read-state.ts";
import { readSandboxTask } from "../app/read-task.ts";
import { receiveMessages } from "../app/receive-messages.ts";
import { requireRoomForEvents } from "../app/require-room.ts";
import { sendMessage } from "../app/send-message.ts";
import { beat, getAssignment } from "../app/serve-worker.ts";
import { startDemo } from "../app/start-demo.ts";
import { pickEncoding } from "./accepted-encoding.ts";
import { person, worker, type Handlers } from "./context.ts";
import { costHandlers } from "./serve-costs.ts";
import { guardianHandlers } from "./serve-guardian.ts";
import { archiveHandlers } from "./serve-archives.ts";
import { alertHandlers } from "./serve-alerts.ts";
import { monitorHandlers } from "./serve-monitor.ts";
import { webhookHandlers } from "./serve-webhooks.ts";
import { coordinationHandlers } from "./serve-coordination.ts";
import { replayHandlers, requireKept, requireRecording } from "./serve-replay.ts";
import { workHandlers } from "./serve-work.ts";
import { gitHandlers } from "./git-handlers.ts";
import { CLEARED_SESSION_COOKIE, parseSessionCookie, toSessionCookie } from "./session-cookie.ts";
import { streamSandbox } from "./stream-sse.ts";

const compress = promisify(gzip);

/** RFC 6266: a name that an agent chose cannot end the header or the quotes around it. */
const toAttachment = (name: string): string =>
  `attachment; filename*=UTF-8''${encodeURIComponent(name.toWellFormed()).replaceAll(/['()*!]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)}`;

export const handlers: Handlers = {
  ...gitHandlers,
  ...archiveHandlers,
  login: async (context, { body }) => {
    const address = context.request.ip;
    await context.limits.takeLogin(address);
    const { person: who, session } = await login(context.deps, body.token).catch(async (error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "auth.required") await context.limits.returnLogin(address);
      throw error;
    });
    await context.limits.returnLogin(address);
    const isSecure = context.deps.config.publicUrl?.startsWith("https:") === true;
    void context.reply.header(
      "set-cookie",
      toSessionCookie(session, { days: context.deps.config.sessionDays, isSecure }),
    );
    return toWhoami(who);
  },
  logout: async (context) => {
    await logout(context.deps, parseSessionCookie(context.request.headers.cookie));
    void context.reply.header("set-cookie", CLEARED_SESSION_COOKIE);
    return { status: "ok" };
  },
  whoami: async (context) => toWhoami(person(context)),
  createWsTicket: (context) => createTicket(context.deps, person(context), context.requestKey),
  listTokens: (context, { query }) => pageTokens(context.deps, person(context), query),
  createToken: (context, { body }) => createToken(context.deps, person(context), body, context.requestKey),
  revokeToken: (context, { params }) => endToken(context.deps, person(context), params.token_id),

  listProjects: (context, { query }) => pageProjects(context.deps, person(context), query),
  createProject: async (context, { body }) => {
    const actor = person(context);
    if (actor.grant.projectId !== null)
      throw new AppError("auth.forbidden", "only an admin of all projects creates new ones");
    return createProject(context.deps, actor, body, context.requestKey);
  },
  getProject: (context, { params }) => getProject(context.deps, params.project_id),
  updateProject: (context, { params, body }) => changeProject(context.deps, person(context), params.project_id, body),

  sandboxHealth: async ({ deps }) => ({
    status: "ok",
    service: "sandbox-api",
    timestamp: deps.clock.now().toISOString(),
  }),
  listProviders: (context) => readProviders(context.deps, context.signal),
  countSandboxes: (context, { query }) => countByState(context.deps, person(context), query),
  listSandboxes: (context, { query }) => pageSandboxes(context.deps, person(context), query),
  createSandbox: (context, { body }) =>
    createSandbox(context.deps, person(context), body, context.requestKey, { signal: context.signal }),
  startDemo: (context, { body }) => startDemo(context.deps, person(context), body, context.requestKey),
  getSandbox: (context, { params }) => readSandbox(context.deps, params.sandbox_id),
  terminateSandbox: (context, { params }) => terminateSandbox(context.deps, person(context), params.sandbox_id),
  pauseSandbox: (context, { params }) => pauseSandbox(context.deps, person(context), params.sandbox_id, context.signal),
  resumeSandbox: (context, { params }) =>
    resumeSandbox(context.deps, person(context), params.sandbox_id, context.signal),
  forkSandbox: (context, { params, body }) =>
    forkSandbox(context.deps, person(context), params.sandbox_id, body, context.requestKey, context.signal),
  cancelSandbox: (context, { params }) => cancelSandbox(context.deps, person(context), params.sandbox_id),
  getSandboxTask: (context, { params }) => readSandboxTask(context.deps, params.sandbox_id),
  pruneSandboxes: (context, { body }) => pruneSandboxes(context.deps, person(context), body, context.signal),
  replaceWorker: (context, { params }) =>
    replaceWorker(context.deps, person(context), params.sandbox_id, context.requestKey, context.signal),

  listAgentPackages: ({ deps }) => listAgentPackages(deps),
  installAgentPackage: (context, { params }) => installAgentPackage(context.deps, person(context), params.name),
  removeAgentPackage: (context, { params }) => removeAgentPackage(context.deps, person(context), params.name),

  execCommand: (context, { params, body }) =>
    execCommand(context.deps, person(context), params.sandbox_id, body, context.signal),
  openPreview: (context, { params, body }) =>
    createPreview(context.deps, person(context), params.sandbox_id, body, context.signal),
  listFiles: async (context, { params: { sandbox_id }, query: { path, at_seq } }) => {
    requireKept(context, at_seq);
    return at_seq === undefined
      ? listFiles(context.deps, sandbox_id, path, context.signal)
      : listFilesAt(context.deps, sandbox_id, path, at_seq, context.signal);
  },
  readFile: async (context, { params, query }) => {
    requireKept(context, query.at_seq);
    const { name, bytes } =
      query.at_seq === undefined
        ? await readFile(context.deps, params.sandbox_id, query.path, context.signal)
        : await readFileAt(context.deps, params.sandbox_id, query.path, query.at_seq, context.signal);
    void context.reply
      .type("application/octet-stream")
      .header("content-disposition", toAttachment(name))
      .header("cache-control", "no-store");
    return Buffer.from(bytes);
  },
  readLogs: (context, { params, query }) => readLogs(context.deps, params.sandbox_id, query, context.signal),
  listRecordings: (context, { params, query }) => listRecordings(context.deps, params.sandbox_id, query),

  ingestEvents: async (context, { body }) => {
    const from = worker(context);
    const events = "events" in body ? body.events : [body];
    requireRoomForEvents(context.deps);
    await context.limits.takeEvents(from.sandboxId, events.length);
    const key = context.requestKey?.key;
    const keyed =
      key === undefined
        ? events
        : events.map((event, index) => ({ ...event, client_event_id: event.client_event_id ?? `key:${key}:${index}` }));
    const [first] = keyed;
    return "events" in body || first === undefined
      ? context.deps.ingest.batch(from, keyed)
      : context.deps.ingest.one(from, first);
  },
  listSandboxEvents: (context, { params, query }) => pageSandboxEvents(context.deps, params.sandbox_id, query),
  listEvents: (context, { query }) => pageAllEvents(context.deps, person(context), query),
  getTrajectory: (context, { params, query }) => readTrajectory(context.deps, params.sandbox_id, query),
  getStateAt: async ({ deps }, { params, query }) => readStateAt(deps, params.sandbox_id, query.at_seq),
  getSpine: async (context, { params, query }) => {
    const spine = await readSpine(context.deps, params.sandbox_id, query.after_seq);
    void context.reply.header("vary", "accept-encoding");
    if (pickEncoding(context.request.headers["accept-encoding"], ["gzip"]) === undefined) return spine;
    void context.reply.header("content-encoding", "gzip").type("application/json; charset=utf-8");
    // The bytes are the reply; its shape was checked by the type of `spine`.
    return (await compress(JSON.stringify(spine))) as never;
  },
  streamSandbox: (context, { params, query }) =>
    streamSandbox(context, person(context), params.sandbox_id, query.after_seq),
  putArtifact: (context, { params }) =>
    putArtifact(context.deps, worker(context), params.artifact_id, context.request.raw),
  getArtifact: async (context, { params }) => {
    await requireRecording(context, params.sandbox_id, params.artifact_id);
    const blob = await openArtifact(context.deps, params.sandbox_id, params.artifact_id);
    void context.reply
      .type("application/octet-stream")
      .header("content-length", blob.size)
      .header("content-disposition", `attachment; filename="${params.artifact_id}"`)
      .header("cache-control", "private, max-age=31536000, immutable");
    return blob.bytes;
  },
  getFileDiff: (context, { params }) => readFileDiff(context.deps, params.sandbox_id, params.event_id),

  broadcastMessage: (context, { body }) => broadcastMessage(context.deps, person(context), body, context.requestKey),
  sendMessage: (context, { params, body }) =>
    sendMessage(context.deps, person(context), params.sandbox_id, body, context.requestKey),
  receiveMessages: async (context, { query }) => [
    ...(await receiveMessages(context.deps, worker(context), query, context.waiting)),
  ],
  ackMessage: (context, { params, body }) => ackMessage(context.deps, worker(context), params.message_id, body),
  listMessages: (context, { params, query }) => pageMessages(context.deps, params.sandbox_id, query),

  listPermissions: (context, { params, query }) => pagePermissions(context.deps, params.sandbox_id, query),
  answerPermission: (context, { params, body }) =>
    answerRequest(context.deps, person(context), params, body, context.requestKey),

  getAssignment: (context) => getAssignment(context.deps, worker(context)),
  getRestored: async (context, { params }) => {
    const blob = await openRestored(context.deps, worker(context), params.artifact_id);
    void context.reply.type("application/octet-stream").header("content-length", blob.size);
    return blob.bytes;
  },
  heartbeat: async (context, { body }) => {
    const from = worker(context);
    await context.limits.takeEvents(from.sandboxId, 1);
    return beat(context.deps, from, body);
  },

  ...workHandlers,
  ...coordinationHandlers,
  ...costHandlers,
  ...guardianHandlers,
  ...monitorHandlers,
  ...webhookHandlers,
  ...alertHandlers,
  ...replayHandlers,
};
