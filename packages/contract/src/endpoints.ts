/** Every HTTP endpoint of the product, below the API's base path. */
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { BatchReceipt, EventReceipt, IngestEvents } from "./events/event.ts";
import { ArtifactId, EventId, MessageId, ProjectId, SandboxId, TaskId, TokenId } from "./ids.ts";
import {
  AllEventsPage,
  EventPage,
  EventQuery,
  FileDiff,
  Spine,
  SpineQuery,
  Trajectory,
  TrajectoryQuery,
} from "./resources/log.ts";
import { AckReceipt, InboxMessage, MessageAck, MessageRecord, NewMessage, QueuedMessage } from "./resources/message.ts";
import { NewProject, Project, ProjectChange } from "./resources/project.ts";
import { Assignment, CreatedSandbox, Heartbeat, NewSandbox, Sandbox, SandboxState } from "./resources/sandbox.ts";
import { CreatedToken, NewToken, Token, Whoami } from "./resources/token.ts";
import { Timestamp } from "./time.ts";

const page = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), next_cursor: z.string().nullable() });
const Paging = {
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z.string().min(1).max(200).optional(),
};

const sandboxRef = z.object({ sandbox_id: SandboxId });
const projectRef = z.object({ project_id: ProjectId });
const Done = z.object({ status: z.literal("ok") });

export const api = {
  // --- credentials
  login: endpoint({
    method: "POST",
    path: "/auth/login",
    access: "open",
    summary: "Exchange a token or a one-time login code for a session cookie.",
    body: z.strictObject({ token: z.string().min(1).max(500) }),
    reply: Whoami,
  }),
  logout: endpoint({
    method: "POST",
    path: "/auth/logout",
    access: "person",
    verb: "read",
    summary: "End the session of this cookie.",
    reply: Done,
  }),
  whoami: endpoint({
    method: "GET",
    path: "/auth/whoami",
    access: "person",
    verb: "read",
    summary: "Who this credential is.",
    reply: Whoami,
  }),
  createWsTicket: endpoint({
    method: "POST",
    path: "/auth/ws-ticket",
    access: "person",
    verb: "read",
    summary: "A ticket for one WebSocket, valid for 30 seconds.",
    reply: z.object({ ticket: z.string(), expires_at: Timestamp }),
    creates: true,
  }),
  listTokens: endpoint({
    method: "GET",
    path: "/tokens",
    access: "person",
    verb: "administer",
    summary: "Tokens of people and programs.",
    query: z.strictObject(Paging),
    reply: page(Token),
  }),
  createToken: endpoint({
    method: "POST",
    path: "/tokens",
    access: "person",
    verb: "administer",
    summary: "Create a token; its secret is shown once.",
    body: NewToken,
    reply: CreatedToken,
    status: 201,
    creates: true,
  }),
  revokeToken: endpoint({
    method: "DELETE",
    path: "/tokens/:token_id",
    access: "person",
    verb: "administer",
    summary: "Revoke a token; its live sockets close.",
    params: z.object({ token_id: TokenId }),
    reply: Token,
  }),

  // --- projects
  listProjects: endpoint({
    method: "GET",
    path: "/projects",
    access: "person",
    verb: "read",
    summary: "The projects this credential may see.",
    query: z.strictObject(Paging),
    reply: page(Project),
  }),
  createProject: endpoint({
    method: "POST",
    path: "/projects",
    access: "person",
    verb: "administer",
    summary: "Create a project.",
    body: NewProject,
    reply: Project,
    status: 201,
    creates: true,
  }),
  getProject: endpoint({
    method: "GET",
    path: "/projects/:project_id",
    access: "person",
    verb: "read",
    summary: "One project.",
    params: projectRef,
    reply: Project,
  }),
  updateProject: endpoint({
    method: "PATCH",
    path: "/projects/:project_id",
    access: "person",
    verb: "administer",
    summary: "Change a project.",
    params: projectRef,
    body: ProjectChange,
    reply: Project,
  }),

  // --- sandboxes
  sandboxHealth: endpoint({
    method: "GET",
    path: "/sandboxes/health",
    access: "open",
    summary: "Whether the sandbox API answers.",
    reply: z.object({ status: z.literal("ok"), service: z.literal("sandbox-api"), timestamp: Timestamp }),
  }),
  listSandboxes: endpoint({
    method: "GET",
    path: "/sandboxes",
    access: "person",
    verb: "read",
    summary: "Sandboxes, newest first.",
    query: z.strictObject({
      ...Paging,
      status: z.union([z.array(SandboxState), SandboxState.transform((one) => [one])]).optional(),
      project_id: ProjectId.optional(),
      task_id: TaskId.optional(),
      q: z.string().min(1).max(200).optional(),
    }),
    reply: page(Sandbox),
  }),
  createSandbox: endpoint({
    method: "POST",
    path: "/sandboxes",
    access: "person",
    verb: "operate",
    summary: "Create a sandbox.",
    body: NewSandbox,
    reply: CreatedSandbox,
    status: 201,
    creates: true,
  }),
  startDemo: endpoint({
    method: "POST",
    path: "/demo",
    access: "person",
    verb: "operate",
    summary: "Start a sandbox in which the scripted demo agent works.",
    body: z.strictObject({ project_id: ProjectId.optional() }).default({}),
    reply: Sandbox,
    status: 201,
    creates: true,
  }),
  getSandbox: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id",
    access: "person",
    verb: "read",
    summary: "One sandbox.",
    params: sandboxRef,
    reply: Sandbox,
  }),
  terminateSandbox: endpoint({
    method: "DELETE",
    path: "/sandboxes/:sandbox_id",
    access: "person",
    verb: "operate",
    summary: "Terminate a sandbox and revoke its worker.",
    params: sandboxRef,
    reply: Sandbox,
  }),
  replaceWorker: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/worker-token",
    access: "person",
    verb: "operate",
    summary: "For provider `external`: start a new generation and tell its worker token once; the old one is fenced.",
    params: sandboxRef,
    reply: CreatedSandbox,
    status: 201,
    creates: true,
  }),

  // --- events
  ingestEvents: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/events",
    access: "worker",
    summary: "Store one event or a batch; answered after commit.",
    params: sandboxRef,
    body: IngestEvents,
    reply: z.union([EventReceipt, BatchReceipt]),
  }),
  listSandboxEvents: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/events",
    access: "person",
    verb: "read",
    summary: "Events of a sandbox by filter.",
    params: sandboxRef,
    query: EventQuery,
    reply: EventPage,
  }),
  listEvents: endpoint({
    method: "GET",
    path: "/events",
    access: "person",
    verb: "read",
    summary: "Events of every project this credential may see.",
    query: EventQuery,
    reply: AllEventsPage,
  }),
  getTrajectory: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/trajectory",
    access: "person",
    verb: "read",
    summary: "What the agent did, heartbeats folded.",
    params: sandboxRef,
    query: TrajectoryQuery,
    reply: Trajectory,
  }),
  getSpine: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/spine",
    access: "person",
    verb: "read",
    summary: "The whole session as columns.",
    params: sandboxRef,
    query: SpineQuery,
    reply: Spine,
  }),
  streamSandbox: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/stream",
    access: "person",
    verb: "read",
    summary: "Server-Sent Events; Last-Event-ID is a seq.",
    params: sandboxRef,
    query: z.strictObject({ after_seq: z.coerce.number().int().nonnegative().optional() }),
  }),
  putArtifact: endpoint({
    method: "PUT",
    path: "/sandboxes/:sandbox_id/artifacts/:artifact_id",
    access: "worker",
    summary: "Store bytes under their SHA-256.",
    params: z.object({ sandbox_id: SandboxId, artifact_id: ArtifactId }),
    reply: z.object({ artifact_id: ArtifactId, size: z.int().nonnegative() }),
  }),
  getArtifact: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/artifacts/:artifact_id",
    access: "person",
    verb: "read",
    summary: "The bytes, as an attachment.",
    params: z.object({ sandbox_id: SandboxId, artifact_id: ArtifactId }),
  }),
  getFileDiff: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/file-diffs/:event_id",
    access: "person",
    verb: "read",
    summary: "The complete diff of an agent.file_edited event.",
    params: z.object({ sandbox_id: SandboxId, event_id: EventId }),
    reply: FileDiff,
  }),

  // --- messages
  sendMessage: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/messages",
    access: "person",
    verb: "operate",
    summary: "Queue a message for the agent.",
    params: sandboxRef,
    body: NewMessage,
    reply: QueuedMessage,
    creates: true,
  }),
  receiveMessages: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/messages",
    access: "worker",
    summary: "Messages for the agent: leased, or read once.",
    params: sandboxRef,
    query: z
      .strictObject({
        lease: z.coerce.number().min(1).max(300).optional(),
        wait: z.coerce.number().min(0).max(30).optional(),
      })
      .refine((query) => query.wait === undefined || query.lease !== undefined, {
        path: ["wait"],
        message: "needs `lease`",
      }),
    reply: z.array(InboxMessage),
  }),
  ackMessage: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/messages/:message_id/ack",
    access: "worker",
    summary: "Say how far a message came.",
    params: z.object({ sandbox_id: SandboxId, message_id: MessageId }),
    body: MessageAck,
    reply: AckReceipt,
  }),
  listMessages: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/messages/history",
    access: "person",
    verb: "read",
    summary: "All messages with their states; takes nothing from the worker.",
    params: sandboxRef,
    query: z.strictObject(Paging),
    reply: page(MessageRecord),
  }),

  // --- worker
  getAssignment: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/assignment",
    access: "worker",
    summary: "What the worker is to do.",
    params: sandboxRef,
    reply: Assignment,
  }),
  heartbeat: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/heartbeat",
    access: "worker",
    summary: "The worker is alive.",
    params: sandboxRef,
    body: Heartbeat.default({ status: "alive" }),
    reply: EventReceipt,
  }),
} as const;

export type Api = typeof api;
export type EndpointName = keyof Api;
