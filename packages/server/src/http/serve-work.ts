/** Which use case answers which endpoint of tickets, tasks and graphs. */
import type {
  graphEndpoints,
  taskEndpoints,
  ticketEndpoints,
  ticketRecordEndpoints,
  workReportEndpoints,
} from "@drover/contract";
import { progressTicket } from "../app/advance-tickets.ts";
import { listReadyTasks } from "../app/claim-tasks.ts";
import { addTicketComment, pageComments, reportComment } from "../app/comment-ticket.ts";
import { createTask } from "../app/create-task.ts";
import { addBlocker, removeBlocker } from "../app/edit-blockers.ts";
import {
  addDependencies,
  checkCircular,
  getDependencies,
  removeDependency,
  setDependencies,
} from "../app/edit-dependencies.ts";
import { createJoin } from "../app/join-tasks.ts";
import { pickProject } from "../app/manage-projects.ts";
import {
  CANCELLABLE,
  cancelTask,
  changeTaskFields,
  failTask,
  getTask,
  getTimeline,
  getTimeoutStatus,
  listTaskAttempts,
  pageTasks,
  registerConversation,
  retryTask,
  setTaskTimeout,
  timeOutTask,
} from "../app/manage-tasks.ts";
import {
  approveTicket,
  blockTicket,
  countReviews,
  createWorkTicket,
  getTicket,
  mergeContext,
  pageTickets,
  patchTicket,
  readProgress,
  regressTicket,
  rejectTicket,
  transitionTicket,
  unblockTicket,
} from "../app/manage-tickets.ts";
import { readBlocked, readBlocking, readForecast, readProjectGraph, readTicketGraph } from "../app/read-graph.ts";
import { listBlockers, listTicketCommits, readPhaseHistory, readTicketHistory } from "../app/read-ticket.ts";
import { listTaskDiscoveries, pageDiscoveries, reportDiscovery } from "../app/report-discovery.ts";
import { reportTaskEvent } from "../app/report-event.ts";
import { completeTask } from "../app/report-task.ts";
import { resolveTicket } from "../app/resolve-ticket.ts";
import { searchTickets } from "../app/search-tickets.ts";
import { endOverdueTasks } from "../app/tend-tasks.ts";
import { reportValidation } from "../app/validate-task.ts";
import { person, worker, type Handlers } from "./context.ts";

type WorkName =
  | keyof typeof ticketEndpoints
  | keyof typeof ticketRecordEndpoints
  | keyof typeof taskEndpoints
  | keyof typeof graphEndpoints
  | keyof typeof workReportEndpoints;

export const workHandlers: Pick<Handlers, WorkName> = {
  listTickets: (context, { query }) => pageTickets(context.deps, person(context), query),
  createTicket: (context, { body }) => createWorkTicket(context.deps, person(context), body, context.requestKey),
  countPendingReviews: (context, { query }) => countReviews(context.deps, person(context), query.project_id),
  searchTickets: (context, { body }) => searchTickets(context.deps, person(context), body),
  resolveTicket: (context, { params, body }) =>
    resolveTicket(context.deps, person(context), params.ticket_id, body.resolution_comment),
  getTicket: (context, { params }) => getTicket(context.deps, params.ticket_id),
  updateTicket: (context, { params, body }) => patchTicket(context.deps, person(context), params.ticket_id, body),
  transitionTicket: (context, { params, body }) =>
    transitionTicket(context.deps, person(context), params.ticket_id, body.to_status, body.reason ?? null),
  regressTicket: (context, { params, body }) =>
    regressTicket(context.deps, person(context), params.ticket_id, body.reason ?? null),
  progressTicket: (context, { params }) => progressTicket(context.deps, params.ticket_id),
  blockTicket: (context, { params, body }) => blockTicket(context.deps, person(context), params.ticket_id, body.reason),
  unblockTicket: (context, { params }) => unblockTicket(context.deps, person(context), params.ticket_id),
  approveTicket: (context, { params }) => approveTicket(context.deps, person(context), params.ticket_id),
  rejectTicket: (context, { params, body }) =>
    rejectTicket(context.deps, person(context), params.ticket_id, body.rejection_reason),
  getApprovalStatus: async (context, { params }) => {
    const { id, approval_status, approval_deadline_at, rejection_reason } = await getTicket(
      context.deps,
      params.ticket_id,
    );
    return { ticket_id: id, approval_status, approval_deadline_at, rejection_reason };
  },
  getTicketContext: async (context, { params }) => {
    const { id, context: known } = await getTicket(context.deps, params.ticket_id);
    return { ticket_id: id, context: known };
  },
  updateTicketContext: (context, { params, body }) =>
    mergeContext(context.deps, person(context), params.ticket_id, body.context),
  getTicketProgress: (context, { params }) => readProgress(context.deps, params.ticket_id),

  listTasks: (context, { query }) => pageTasks(context.deps, person(context), query),
  createTask: (context, { body }) => createTask(context.deps, person(context), body, context.requestKey),
  listTimedOut: (context, { query }) => pageTasks(context.deps, person(context), { ...query, isTimedOut: true }),
  listCancellable: (context, { query }) => pageTasks(context.deps, person(context), { ...query, status: CANCELLABLE }),
  listReady: async (context, { query }) => {
    const { deps } = context;
    const ids = await listReadyTasks(deps, [await pickProject(deps, person(context), query.project_id)], query.limit);
    return { items: await Promise.all(ids.map((id) => getTask(deps, id))) };
  },
  getTask: (context, { params }) => getTask(context.deps, params.task_id),
  getTicketHistory: (context, { params, query }) => readTicketHistory(context.deps, params.ticket_id, query),
  getPhaseHistory: (context, { params, query }) => readPhaseHistory(context.deps, params.ticket_id, query),
  listTicketCommits: (context, { params }) => listTicketCommits(context.deps, params.ticket_id, context.signal),
  listTicketBlockers: (context, { params }) => listBlockers(context.deps, params.ticket_id),
  addTicketBlocker: (context, { params, body }) =>
    addBlocker(context.deps, person(context), params.ticket_id, body.blocked_by_ticket_id),
  removeTicketBlocker: (context, { params }) =>
    removeBlocker(context.deps, person(context), params.ticket_id, params.blocker_id),
  listTicketComments: (context, { params, query }) => pageComments(context.deps, params.ticket_id, query),
  addTicketComment: (context, { params, body }) =>
    addTicketComment(context.deps, person(context), params.ticket_id, body, context.requestKey),
  getWorkflowGraph: (context, { params, query }) => readTicketGraph(context.deps, params.ticket_id, query),
  pageDiscoveries: (context, { query }) => pageDiscoveries(context.deps, person(context), query),
  changeTaskStatus: (context, { params, body }) =>
    changeTaskFields(context.deps, person(context), params.task_id, body),
  updateTask: (context, { params, body }) => changeTaskFields(context.deps, person(context), params.task_id, body),
  listAttempts: (context, { params }) => listTaskAttempts(context.deps, params.task_id),
  getTaskTimeline: (context, { params }) => getTimeline(context.deps, params.task_id),
  listDiscoveries: (context, { params }) => listTaskDiscoveries(context.deps, params.task_id),
  registerConversation: (context, { params, body }) => registerConversation(context.deps, params.task_id, body),
  getDependencies: (context, { params }) => getDependencies(context.deps, params.task_id),
  checkCircular: (context, { params, body }) =>
    checkCircular(context.deps, params.task_id, "depends_on" in body ? body.depends_on : body),
  addDependencies: (context, { params, body }) => addDependencies(context.deps, params.task_id, body.depends_on),
  setDependencies: (context, { params, body }) => setDependencies(context.deps, params.task_id, body.depends_on),
  removeDependency: (context, { params }) => removeDependency(context.deps, params.task_id, params.dependency_id),
  cancelTask: (context, { params, body }) => cancelTask(context.deps, person(context), params.task_id, body.reason),
  failTask: (context, { params, body }) => failTask(context.deps, person(context), params.task_id, body.reason),
  retryTask: (context, { params }) => retryTask(context.deps, person(context), params.task_id),
  getTimeoutStatus: (context, { params }) => getTimeoutStatus(context.deps, params.task_id),
  setTaskTimeout: (context, { params, body }) => setTaskTimeout(context.deps, params.task_id, body.timeout_seconds),
  timeOutTask: (context, { params, body }) => timeOutTask(context.deps, person(context), params.task_id, body.reason),
  cleanUpTimedOut: async (context) => {
    const { found, ended } = await endOverdueTasks(context.deps, person(context).grant.projectId);
    return { cleaned_count: ended, total_timed_out: found };
  },
  createJoin: (context, { body }) => createJoin(context.deps, person(context), body, context.requestKey),

  getTicketGraph: (context, { params, query }) => readTicketGraph(context.deps, params.ticket_id, query),
  getProjectGraph: (context, { params, query }) => readProjectGraph(context.deps, params.project_id, query),
  getBlockedTasks: (context, { params }) => readBlocked(context.deps, params.task_id),
  getBlockingTasks: (context, { params }) => readBlocking(context.deps, params.task_id),
  getForecast: (context, { params }) => readForecast(context.deps, params.ticket_id),

  completeTask: (context, { body }) => completeTask(context.deps, worker(context), body),
  reportValidation: (context, { body }) => reportValidation(context.deps, worker(context), body),
  reportDiscovery: (context, { body }) => reportDiscovery(context.deps, worker(context), body, context.requestKey),
  reportComment: (context, { body }) => reportComment(context.deps, worker(context), body, context.requestKey),
  reportTaskEvent: async (context, { params, body }) => {
    const from = worker(context);
    await context.limits.takeEvents(from.sandboxId, 1);
    return reportTaskEvent(context.deps, from, params.task_id, body);
  },
};
