/** Every verb of the command line, in the order in which help lists them. */
import type { Verb } from "./verb.ts";
import { agentServer } from "./verbs/agent-server.ts";
import { agents } from "./verbs/agents.ts";
import { answer } from "./verbs/answer.ts";
import { api } from "./verbs/api.ts";
import { archive } from "./verbs/archive.ts";
import { attach } from "./verbs/attach.ts";
import { broadcast } from "./verbs/broadcast.ts";
import { budgets } from "./verbs/budgets.ts";
import { cancel } from "./verbs/cancel.ts";
import { compare } from "./verbs/compare.ts";
import { toCompletionVerb } from "./verbs/completion.ts";
import { config } from "./verbs/config.ts";
import { costs } from "./verbs/costs.ts";
import { diff } from "./verbs/diff.ts";
import { doctor } from "./verbs/doctor.ts";
import { events } from "./verbs/events.ts";
import { exec } from "./verbs/exec.ts";
import { files } from "./verbs/files.ts";
import { fork } from "./verbs/fork.ts";
import { graph } from "./verbs/graph.ts";
import { guardian } from "./verbs/guardian.ts";
import { toHelp } from "./verbs/help.ts";
import { logs } from "./verbs/logs.ts";
import { ls } from "./verbs/ls.ts";
import { models } from "./verbs/models.ts";
import { monitor } from "./verbs/monitor.ts";
import { pause } from "./verbs/pause.ts";
import { permissions } from "./verbs/permissions.ts";
import { pr } from "./verbs/pr.ts";
import { prices } from "./verbs/prices.ts";
import { project } from "./verbs/project.ts";
import { providers } from "./verbs/providers.ts";
import { prune } from "./verbs/prune.ts";
import { query } from "./verbs/query.ts";
import { preview } from "./verbs/preview.ts";
import { recordings } from "./verbs/recordings.ts";
import { retention } from "./verbs/retention.ts";
import { resume } from "./verbs/resume.ts";
import { rm } from "./verbs/rm.ts";
import { run } from "./verbs/run.ts";
import { send } from "./verbs/send.ts";
import { share } from "./verbs/share.ts";
import { show } from "./verbs/show.ts";
import { specRun } from "./verbs/spec-run.ts";
import { task } from "./verbs/task.ts";
import { ticket } from "./verbs/ticket.ts";
import { token } from "./verbs/token.ts";
import { up } from "./verbs/up.ts";
import { verify } from "./verbs/verify.ts";
import { webhook } from "./verbs/webhook.ts";
import { worker } from "./verbs/worker.ts";
import { workerToken } from "./verbs/worker-token.ts";

export const VERBS: readonly Verb[] = [
  up,
  run,
  ls,
  show,
  events,
  query,
  compare,
  send,
  broadcast,
  permissions,
  answer,
  logs,
  files,
  diff,
  exec,
  attach,
  recordings,
  preview,
  pause,
  resume,
  fork,
  share,
  cancel,
  rm,
  prune,
  guardian,
  monitor,
  project,
  ticket,
  task,
  graph,
  agents,
  models,
  providers,
  agentServer,
  pr,
  archive,
  retention,
  costs,
  budgets,
  prices,
  webhook,
  token,
  config,
  doctor,
  verify,
  specRun,
  worker,
  workerToken,
  api,
  toCompletionVerb(() => VERBS),
  toHelp(() => VERBS),
];
