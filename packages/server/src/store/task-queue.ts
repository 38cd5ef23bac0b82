/** The queue of ready tasks: kept in order by an index, so that a claim costs the same however many wait.
 *
 *  A score changes with time, an index does not. So tasks stand in lanes within which time changes no order: all that changes
 *  changes equally fast for all of them, and is left out of their rank. The best few of each lane of each project are scored
 *  exactly; nothing else needs to be looked at. A lane is an age (young: it still grows older; ripe; starving: never below the
 *  floor) and a deadline (far or none; near; past). Only of those that starve near their deadline the rank is not the whole
 *  truth: while it is below the floor, the oldest comes first; so the oldest few are looked at too. */
import type { ScoreWeights } from "@drover/core";
import { ProjectId, TaskId, TaskStatus, TicketId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { SAMPLE_TASK } from "./tasks.ts";
import type { Statement } from "../ports/db.ts";
import { empty, join, sql } from "./sql.ts";

const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000";
const SAMPLE_WEIGHTS: ScoreWeights = {
  priority: 0.45,
  age: 0.2,
  deadline: 0.15,
  blockers: 0.15,
  retries: 0.05,
  ageCeilingSeconds: 3_600,
  urgencySeconds: 900,
  starvationSeconds: 7_200,
  blockerCeiling: 10,
  urgencyBoost: 1.25,
  starvationFloor: 0.6,
};

/** By deadline (far, near, past), then by age (young, ripe, starving). */
const LANES = [
  [0, 1, 2],
  [3, 5, 6],
  [7, 8, 9],
] as const;
const DELAYED = 4;
const [FAR, NEAR, PAST] = LANES;
const YOUNG = [FAR[0], NEAR[0], PAST[0]];
const RIPE = [FAR[1], NEAR[1], PAST[1]];
/** `NEAR[2]`, as a word of the statement: the index of its oldest is found by it. */
const STARVING_NEAR = sql`6`;
/** Stands for a lane where the oldest of `NEAR[2]` are listed. */
const OLDEST = sql`10`;

/** Keeps everybody else from claiming until the transaction ends: for whoever was overtaken again and again. */
export const lockClaims = query(
  "tasks.lock_claims",
  z.object({ turn: z.number() }),
  [],
  () => sql`select turn from claim_turn for update`,
);

/** What the queue needs to know of tasks, from what is true now. */
const toDerived = (weights: ScoreWeights, which: Statement): Statement => sql`
  select t.id,
    (select count(*) from task_dependencies e join tasks o on o.id = e.depends_on
      where e.task_id = t.id and o.status <> 'completed')::integer as unmet,
    (select count(*) from task_dependencies e join tasks o on o.id = e.task_id
      where e.depends_on = t.id and o.status = 'pending')::integer as blockers,
    k.is_blocked or k.status = 'done' or k.approval_status <> 'approved' or p.status <> 'active'
      or not (p.autonomous_execution_enabled or coalesce(t.execution_config->>'force_execute', '') = 'true')
      or exists (select 1 from ticket_dependencies x join tickets o on o.id = x.blocked_by
        where x.ticket_id = t.ticket_id and o.status <> 'done') as is_held,
    case when t.not_before > now() then ${DELAYED}
      else (${LANES.flat()}::smallint[])[1 + 3 * case when t.deadline_at < now() then 2
          when t.deadline_at <= now() + make_interval(secs => ${weights.urgencySeconds}) then 1 else 0 end
        + case when t.created_at <= now() - make_interval(secs => ${weights.starvationSeconds}) then 2
          when t.created_at <= now() - make_interval(secs => ${weights.ageCeilingSeconds}) then 1 else 0 end]
      end::smallint as lane
  from tasks t join tickets k on k.id = t.ticket_id join projects p on p.id = t.project_id
  where ${which}`;

/** Locks before what is derived is derived: a statement sees only what was committed when it began. */
export const lockQueued = query(
  "tasks.lock_queued",
  z.object({ id: TaskId }),
  [[SAMPLE_TASK]],
  (ids: readonly string[]) =>
    sql`select id from tasks where id = any(${ids}::text[]) order by id limit 100000 for update`,
);

/** What of a task's score does not depend on the moment, in its lane. */
const toRank = (weights: ScoreWeights): Statement => {
  const fixed = sql`(${weights.priority} * case t.priority when 'CRITICAL' then 1 when 'HIGH' then 0.75 when 'MEDIUM' then 0.5 else 0.25 end
      + ${weights.blockers} * least(d.blockers / ${weights.blockerCeiling}::float8, 1)
      + ${weights.retries} * greatest(0, 1 - t.retry_count / greatest(t.max_retries, 1)::float8))`;
  return sql`case d.lane
      when ${FAR[2]} then greatest(${fixed} + ${weights.age}::float8, ${weights.starvationFloor}::float8)
      when ${PAST[2]} then greatest(${fixed} + ${weights.age}::float8 + ${weights.deadline}::float8, ${weights.starvationFloor}::float8)
      else ${fixed}
        - case when d.lane = any(${YOUNG}::smallint[])
            then ${weights.age} * extract(epoch from t.created_at) / ${weights.ageCeilingSeconds}::float8 else 0 end
        - case when d.lane = any(${[...NEAR]}::smallint[])
            then ${weights.deadline} * extract(epoch from t.deadline_at) / ${weights.urgencySeconds}::float8 else 0 end
      end`;
};

/** Puts tasks at their place in the queue. Twice equals once. */
export const refreshTasks = command(
  "tasks.refresh",
  [SAMPLE_WEIGHTS, [SAMPLE_TASK]],
  (weights: ScoreWeights, ids: readonly string[]) => sql`
  update tasks t set unmet = d.unmet, blockers = d.blockers, is_held = d.is_held, lane = d.lane, rank = ${toRank(weights)}
  from (${toDerived(weights, sql`t.id = any(${ids}::text[])`)}) d where t.id = d.id`,
);

/** Waiting tasks that do not stand where they belong: the safety net of everything that refreshes. */
export const listMisplaced = query(
  "tasks.misplaced",
  z.object({ id: TaskId }),
  [SAMPLE_WEIGHTS, 10],
  (weights: ScoreWeights, limit: number) => sql`
  select t.id from tasks t join (${toDerived(weights, sql`t.status in ('pending', 'blocked')`)}) d on d.id = t.id
  where (t.unmet, t.blockers, t.is_held, t.lane) is distinct from (d.unmet, d.blockers, d.is_held, d.lane)
    or abs(t.rank - ${toRank(weights)}) > 1e-6 limit ${limit}`,
);

const IdRow = z.object({ id: TaskId });

/** Pending tasks of these lanes for which something is true. */
const findIn = (lanes: readonly number[], condition: Statement, limit: number): Statement => sql`
  select o.id from unnest(${lanes}::smallint[]) as l (lane) cross join lateral (
    select id from tasks where status = 'pending' and lane = l.lane and ${condition} limit ${limit}) o`;

/** Pending tasks whose lane is not theirs any more, because time passed. */
export const listRipened = query(
  "tasks.ripened",
  IdRow,
  [SAMPLE_WEIGHTS, 10],
  (weights: ScoreWeights, limit: number) => sql`
  ${findIn([DELAYED], sql`not_before <= now()`, limit)}
  union ${findIn(FAR, sql`deadline_at <= now() + make_interval(secs => ${weights.urgencySeconds})`, limit)}
  union ${findIn(NEAR, sql`deadline_at < now()`, limit)}
  union ${findIn(YOUNG, sql`created_at <= now() - make_interval(secs => ${weights.ageCeilingSeconds})`, limit)}
  union ${findIn(RIPE, sql`created_at <= now() - make_interval(secs => ${weights.starvationSeconds})`, limit)}`,
);

/** Pending tasks of a ticket or a project: what happened to it may hold or free them. */
export const listPendingOf = query(
  "tasks.pending_of",
  IdRow,
  [{ ticketId: "a" }],
  (scope: { readonly ticketId: string } | { readonly projectId: string }) => sql`
  select id from tasks where status in ('pending', 'blocked')
  and ${"ticketId" in scope ? sql`ticket_id = ${scope.ticketId}` : sql`project_id = ${scope.projectId}`} order by id limit 100000`,
);

const CandidateRow = z.object({
  id: TaskId,
  project_id: ProjectId,
  ticket_id: TicketId,
  priority: z.string(),
  created_at: z.date(),
  deadline_at: z.date().nullable(),
  blockers: z.number(),
  retry_count: z.number(),
  max_retries: z.number(),
  owned_files: z.array(z.string()),
  list: z.number(),
});
export type CandidateRow = z.infer<typeof CandidateRow>;

/** A number as a word of the text: as a parameter the planner would have to guess it, and would plan anew each time. */
const word = (value: number): Statement => ({ text: String(Math.trunc(value)), values: [] });

/** The best few of each lane of a project, as lists; one that stands in two comes twice. Nothing is read of lanes in which nobody waits.
 *  `capabilities` null: nobody is left out. */
const toLists = (
  project: Statement,
  lanes: Statement,
  capabilities: readonly string[] | null,
  perLane: Statement,
): Statement => {
  const best = (lane: Statement, order: Statement) => sql`
    select t.id, t.ticket_id, t.priority, t.created_at, t.deadline_at, t.blockers, t.retry_count, t.max_retries, t.owned_files
    from tasks t
    where t.project_id = ${project} and t.lane = ${lane} and t.status = 'pending' and t.unmet = 0 and not t.is_held
      ${capabilities === null ? empty : sql`and t.required_capabilities <@ ${capabilities}::text[]`}
    order by ${order} limit ${perLane}`;
  return sql`
  select b.*, l.lane as list from (${lanes}) l
  cross join lateral (${best(sql`l.lane`, sql`t.rank desc, t.created_at, t.id`)}) b
  union all
  select b.*, ${OLDEST} as list from (${best(STARVING_NEAR, sql`t.created_at, t.id`)}) b`;
};

/** Lanes in which somebody waits, wherever. */
const LANES_IN_USE = sql`select o.lane from (values ${join(LANES.flat().map((lane) => sql`(${word(lane)}::smallint)`))}) as o (lane)
    where exists (select 1 from tasks w where w.status = 'pending' and w.lane = o.lane)`;

const RoomRow = z.object({ project_id: ProjectId, room: z.number(), active: z.number(), turn: z.number() });
/** What is told of a task is null, like its id, where a project has no room or nobody waits. */
const LookRow = RoomRow.extend(CandidateRow.shape).extend({ id: TaskId.nullable() });
export type LookRow = z.infer<typeof LookRow>;

/** How much of each project runs and how much may, after which claim, and the best few of those that have room: what one moment showed. */
export const lookAtQueue = query(
  "tasks.look",
  LookRow,
  [5, ["web"], 10],
  (limit: number, capabilities: readonly string[] | null, perLane: number) => sql`
  with room as materialized (
    select p.id as project_id, t.turn, coalesce((p.settings->>'max_concurrent_tasks')::integer, ${limit}::integer)
      - coalesce(a.active, 0)::integer as room, coalesce(a.active, 0)::integer as active
    from claim_turn t cross join projects p left join (select project_id, count(*) as active from tasks
      where status in ('claiming', 'assigned', 'running', 'validating') group by project_id) a on a.project_id = p.id
    where p.status = 'active' limit 10000),
  lanes as materialized (${LANES_IN_USE})
  select r.*, c.* from room r left join lateral (
    ${toLists(sql`case when r.room > 0 then r.project_id end`, sql`select lane from lanes`, capabilities, word(perLane))}) c on true`,
  { trusted: true, prepared: true },
);

/** The best few of each lane of the projects, whatever room they have. */
export const listCandidates = query(
  "tasks.candidates",
  CandidateRow,
  [[SAMPLE_PROJECT], ["web"], 10],
  (projects: readonly string[], capabilities: readonly string[] | null, perLane: number) => sql`
  select p.id as project_id, c.* from unnest(${projects}::text[]) as p (id)
  cross join lateral (${toLists(sql`p.id`, LANES_IN_USE, capabilities, sql`${perLane}`)}) c`,
  { trusted: true },
);

/** What runs in these tickets and has files of its own. */
export const listHolders = query(
  "tasks.holders",
  z.object({ ticket_id: TicketId, owned_files: z.array(z.string()) }),
  [["a"]],
  (ticketIds: readonly string[]) => sql`
  select ticket_id, owned_files from tasks
  where ticket_id = any(${ticketIds}::text[]) and owned_files <> '{}'
    and status in ('claiming', 'assigned', 'running', 'pending_validation', 'validating', 'needs_revision')
  limit 10000`,
);

/** Takes those of the tasks that are still free, unless others claimed since that turn: then there is no row. Whoever a person changes at
 *  this moment is passed over; if that is all of them, the id is null. */
export const claimTasks = query(
  "tasks.claim",
  z.object({ id: TaskId.nullable() }),
  [[SAMPLE_TASK], "server", 0],
  (ids: readonly string[], claimer: string, turn: number) => sql`
  with turned as (update claim_turn set turn = turn + 1 where turn = ${turn} returning turn),
  free as (select id from tasks where id in (${join(ids.map((id) => sql`${id}`))}) and status = 'pending' and unmet = 0 and not is_held
      and exists (select 1 from turned)
      and not exists (select 1 from task_dependencies e join tasks o on o.id = e.depends_on
        where e.task_id = tasks.id and o.status <> 'completed')
    order by id limit 1000 for update skip locked),
  claimed as (update tasks t set status = 'claiming', status_reason = null, status_changed_at = now(), claimed_at = now(),
    claimed_by = ${claimer}, updated_at = now() from free where t.id = free.id returning t.id)
  select claimed.id from turned left join claimed on true`,
  { prepared: true },
);

/** The oldest that wait for a validator. */
export const claimValidations = query(
  "tasks.claim_validation",
  IdRow,
  ["server", 4],
  (claimer: string, limit: number) => sql`
  update tasks t set status = 'validating', status_reason = null, status_changed_at = now(), claimed_at = now(), claimed_by = ${claimer},
    updated_at = now()
  from (select id from tasks where status = 'pending_validation' and (not_before is null or not_before <= now())
    order by status_changed_at, id limit ${limit} for update skip locked) as free
  where t.id = free.id returning t.id`,
);

const StateRow = z.object({ id: TaskId, status: TaskStatus });

/** Claims whose claimer did not come to assign them, by the time of the claim. */
export const listStaleClaims = query(
  "tasks.stale_claims",
  StateRow.extend({ status_changed_at: z.date() }),
  [60, 10],
  (seconds: number, limit: number) => sql`
  select id, status, status_changed_at from tasks
  where status in ('claiming', 'validating') and status_changed_at < now() - make_interval(secs => ${seconds})
    and not exists (select 1 from task_attempts a where a.task_id = tasks.id and a.ended_at is null)
  order by status_changed_at limit ${limit}`,
);

/** Its own time is over; or it was given to an agent, or to one that is to validate it, which never began. */
const toOverdue = (staleMinutes: number): Statement => sql`(
  status = 'running' and timeout_seconds is not null and started_at + make_interval(secs => timeout_seconds) < now()
  or status = 'assigned' and assigned_at < now() - make_interval(secs => ${staleMinutes * 60})
  or status = 'validating' and exists (select 1 from task_attempts a join sandboxes s on s.id = a.sandbox_id
    where a.task_id = tasks.id and a.ended_at is null and s.state in ('pending', 'creating')
      and a.created_at < now() - make_interval(secs => ${staleMinutes * 60})))`;

/** Of one project, or of all. */
export const listOverdue = query(
  "tasks.overdue",
  IdRow,
  [15, SAMPLE_PROJECT, 10],
  (staleMinutes: number, projectId: string | null, limit: number) => sql`
  select id from tasks where status in ('running', 'assigned', 'validating') and ${toOverdue(staleMinutes)}
    ${projectId === null ? empty : sql`and project_id = ${projectId}`}
  order by status_changed_at limit ${limit}`,
);

/** Whether it is one of those, asked under its lock: it may have been given more time, or to another, since it was found. */
export const findOverdue = query(
  "tasks.find_overdue",
  IdRow,
  [15, SAMPLE_TASK],
  (staleMinutes: number, id: string) => sql`select id from tasks where id = ${id} and ${toOverdue(staleMinutes)}`,
);

/** Tasks that nothing will start any more: their ticket was refused, or nobody answered for it in time, or it is done. Of one ticket, or of all. */
export const listStranded = query(
  "tasks.stranded",
  z.object({ id: TaskId, ticket_status: z.string(), approval_status: z.string() }),
  ["a", 10],
  (ticketId: string | null, limit: number) => sql`
  select t.id, k.status as ticket_status, k.approval_status from tasks t join tickets k on k.id = t.ticket_id
  where t.status in ('pending', 'blocked') and (k.status = 'done' or k.approval_status in ('rejected', 'timed_out'))
    ${ticketId === null ? empty : sql`and t.ticket_id = ${ticketId}`}
  order by t.id limit ${limit}`,
);

/** Tasks that wait for a validator though there is none any more. */
export const listUnvalidated = query(
  "tasks.unvalidated",
  IdRow,
  [10],
  (limit: number) =>
    sql`select id from tasks where status = 'pending_validation' order by status_changed_at limit ${limit}`,
);

/** Pending tasks one of whose dependencies has ended badly. */
export const listDoomed = query(
  "tasks.doomed",
  IdRow,
  [10],
  (limit: number) => sql`
  select distinct t.id from tasks o join task_dependencies e on e.depends_on = o.id join tasks t on t.id = e.task_id
  where o.status in ('failed', 'cancelled', 'skipped', 'blocked') and t.status = 'pending' and t.unmet > 0 limit ${limit}`,
);

/** Blocked tasks whose dependencies are all alive again; skipped ones too, if that is why they were skipped. */
export const listRevived = query(
  "tasks.revived",
  IdRow,
  [10],
  (limit: number) => sql`
  select t.id from tasks t where (t.status = 'blocked' or t.status = 'skipped' and t.status_reason like 'dependency %')
    and not exists (select 1 from task_dependencies e join tasks o on o.id = e.depends_on
      where e.task_id = t.id and o.status in ('failed', 'cancelled', 'skipped', 'blocked'))
  limit ${limit}`,
);

/** Blocked for longer than one waits. */
export const listGivenUp = query(
  "tasks.given_up",
  IdRow,
  [60, 10],
  (seconds: number, limit: number) => sql`
  select id from tasks where status = 'blocked' and status_changed_at < now() - make_interval(secs => ${seconds})
  order by status_changed_at limit ${limit}`,
);
