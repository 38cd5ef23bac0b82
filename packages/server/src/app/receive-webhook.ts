/** Webhooks of GitHub: believed only when signed, handled once, and then followed like what Drover sees itself. */
import { toHeadName } from "@drover/core";
import { AppError } from "@drover/contract";
import { z } from "zod";
import { findDelivery, findProjectByPlace, insertDelivery } from "../store/git.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { followPull } from "./follow-pulls.ts";
import { openProjectGit, type ProjectGit } from "./project-git.ts";

export interface Delivery {
  readonly id: string;
  /** Of the bytes that were signed: the id is not, so whoever caught a delivery could send it again under another one. */
  readonly digest: string;
  readonly event: string;
  readonly payload: unknown;
}

const Repository = z.looseObject({
  repository: z.looseObject({ name: z.string(), owner: z.looseObject({ login: z.string() }) }),
});

const PullEnd = z.looseObject({
  ref: z.string(),
  label: z.string().nullish(),
  repo: z.looseObject({ full_name: z.string() }).nullish(),
});

const PullEvent = z.looseObject({
  action: z.string(),
  pull_request: z.looseObject({
    number: z.int().positive(),
    title: z.string(),
    body: z.string().nullable(),
    state: z.enum(["open", "closed"]),
    html_url: z.string(),
    merged: z.boolean(),
    merge_commit_sha: z.string().nullable(),
    head: PullEnd.extend({ sha: z.string() }),
    base: PullEnd,
  }),
});

const PushEvent = z.looseObject({
  ref: z.string(),
  before: z.string(),
  after: z.string(),
  commits: z.array(z.looseObject({ id: z.string(), message: z.string() })).max(2_048),
});

/** The secrets that may have signed it: the project's own, else the installation's. Undefined when there is none. */
export async function findWebhookSecret(deps: Deps, payload: unknown): Promise<string | undefined> {
  const named = Repository.safeParse(payload).data?.repository;
  const project =
    named === undefined ? undefined : await findProjectByPlace.maybe(deps.db, named.owner.login, named.name);
  const own = project?.sealed_webhook_secret;
  return own === null || own === undefined ? deps.config.githubWebhookSecret : deps.vault.open(own);
}

async function handle(deps: Deps, git: ProjectGit, { event, payload }: Delivery): Promise<void> {
  if (event === "pull_request") {
    const { pull_request: pull } = parse(PullEvent, payload);
    const isMerged = pull.merged;
    await followPull(deps, git, {
      number: pull.number,
      title: pull.title,
      body: pull.body ?? "",
      head: toHeadName(pull.head, pull.base),
      base: pull.base.ref,
      state: isMerged ? "merged" : pull.state,
      url: pull.html_url,
      headCommit: pull.head.sha,
      isMergeable: null,
      mergeCommit: isMerged ? pull.merge_commit_sha : null,
    });
  }
  if (event === "push") {
    const { ref, before, after, commits } = parse(PushEvent, payload);
    const { projectId } = git.repo;
    const data = {
      branch: ref.replace(/^refs\/(?:heads|tags)\//, ""),
      ref,
      from_commit: before,
      to_commit: after,
      commit_count: commits.length,
      commits: commits
        .slice(0, 50)
        .map((one) => ({ id: one.id, subject: (one.message.split("\n")[0] ?? "").slice(0, 200) })),
      by: "github",
    };
    const entity = { type: "project", id: projectId, projectId };
    await writeWithEvents(deps, (_tx, append) =>
      append([draftEvent(deps.ids, entity, { eventType: "git.pushed", data })]),
    );
  }
}

function parse<T extends z.ZodType>(schema: T, payload: unknown): z.infer<T> {
  const parsed = schema.safeParse(payload);
  if (!parsed.success) throw new AppError("request.invalid", "this is not what GitHub sends for this event");
  return parsed.data;
}

/** Its signature has been checked. Written down after it was handled: a delivery that failed in between is handled again. */
export async function receiveWebhook(deps: Deps, delivery: Delivery): Promise<{ status: string }> {
  const names = [delivery.id, `sha256:${delivery.digest}`];
  for (const name of names) if ((await findDelivery.maybe(deps.db, name)) !== undefined) return { status: "duplicate" };
  const named = Repository.safeParse(delivery.payload).data?.repository;
  const project =
    named === undefined ? undefined : await findProjectByPlace.maybe(deps.db, named.owner.login, named.name);
  if (project !== undefined) await handle(deps, await openProjectGit(deps, project.project_id), delivery);
  for (const name of names) await insertDelivery(deps.db, name, delivery.event);
  return { status: project === undefined ? "ignored" : "received" };
}
