/** What one schedule does to one sandbox: its script, its messages, and who is killed where. Made from a seed alone. */
import { FAULT_POINTS as SERVER_POINTS, type FaultPoint as ServerPoint } from "../../../server/src/ports/fault.ts";
import { FAULT_POINTS as WORKER_POINTS, type FaultPoint as WorkerPoint } from "../../../worker/src/fault.ts";
import { createChance, type Chance } from "../chance.ts";

export type Kill =
  | { readonly who: "worker" }
  | { readonly who: "server"; readonly awayMs?: number }
  | { readonly who: "server"; readonly at: ServerPoint; readonly nth: number }
  | { readonly who: "postgres"; readonly part: "postmaster" | "backend" };

/** An action, and the round of the script at which it is done: as soon as a subscriber has seen that round. */
export interface Deed {
  readonly segment: number;
  readonly round: number;
  /** Milliseconds later, so that deaths fall everywhere. */
  readonly lateMs: number;
  readonly what: { readonly kill: Kill } | { readonly say: string; readonly delivery: "steer" | "queue" };
}

export interface WorkerFault {
  readonly at: WorkerPoint;
  readonly nth: number;
}

export interface Plan {
  readonly index: number;
  readonly segments: number;
  readonly rounds: number;
  /** Characters that make every text longer, so that the journal grows and is compacted. */
  readonly padding: number;
  readonly hasEdits: boolean;
  /** In the order of the script. */
  readonly deeds: readonly Deed[];
  /** One per life of the worker; a life without one, or beyond these, ends only by a deed. */
  readonly faults: readonly (WorkerFault | undefined)[];
  /** Whether each death of the worker leaves half a record behind, as a loss of power would. */
  readonly isTorn: readonly boolean[];
}

/** How often a point is passed in one life of a sandbox, roughly: a fault beyond it never comes. */
const WORKER_PASSES: Readonly<Record<WorkerPoint, number>> = {
  "outbox.appended": 60,
  "outbox.compacting": 2,
  "link.sent": 25,
  "link.acked": 25,
  "inbox.leased": 3,
  "inbox.injected": 3,
  "inbox.acked": 6,
};
const SERVER_PASSES: Readonly<Record<ServerPoint, number>> = {
  "ingest.before_commit": 40,
  "ingest.committed": 40,
  "ingest.published": 40,
  "message.leased": 4,
  "message.acked": 8,
};

const toWorkerFault = (chance: Chance, at: WorkerPoint): WorkerFault => ({ at, nth: chance.int(1, WORKER_PASSES[at]) });
const toServerKill = (chance: Chance, at: ServerPoint): Kill => ({
  who: "server",
  at,
  nth: chance.int(1, SERVER_PASSES[at]),
});

function pickKill(chance: Chance): Kill {
  const die = chance.int(1, 100);
  if (die <= 40) return { who: "worker" };
  if (die <= 55) return { who: "server" };
  if (die <= 75) return toServerKill(chance, chance.pick(SERVER_POINTS));
  return { who: "postgres", part: die <= 90 ? "postmaster" : "backend" };
}

/** The first schedules go through every named point once, in turn. */
function pickNamed(chance: Chance, index: number): { readonly fault?: WorkerFault; readonly kill?: Kill } {
  const worker = WORKER_POINTS[index];
  if (worker !== undefined) return { fault: { at: worker, nth: chance.int(1, 2) } };
  const server = SERVER_POINTS[index - WORKER_POINTS.length];
  return server === undefined ? {} : { kill: { who: "server", at: server, nth: chance.int(1, 2) } };
}

/** A death that leaves half a record, and then another one: what was accepted in between must not lie behind the half. */
const toTornPlan = (chance: Chance): Partial<Plan> => ({
  faults: [
    { at: "outbox.appended", nth: chance.int(5, 15) },
    { at: "outbox.appended", nth: chance.int(5, 15) },
    { at: "link.acked", nth: chance.int(2, 4) },
  ],
  isTorn: [true, true, true],
});

/** The server is away for long and much is owed. The worker dies meanwhile, and again when a part was acknowledged and the
 *  journal compacted: the rest lies nowhere but there. */
const toOwingPlan = (chance: Chance): Partial<Plan> => ({
  segments: 1,
  rounds: 70,
  padding: 60_000,
  hasEdits: false,
  faults: [undefined, { at: "link.acked", nth: chance.int(2, 3) }],
  deeds: [
    { segment: 1, round: 1, lateMs: 0, what: { kill: { who: "server", awayMs: 2_500 } } },
    { segment: 1, round: 1, lateMs: chance.int(1_200, 1_800), what: { kill: { who: "worker" } } },
  ],
});

/** The worker has taken a message, which is for the end of the turn, and dies long before. */
const toHoldingPlan = (chance: Chance): Partial<Plan> => ({
  segments: 2,
  rounds: 16,
  faults: [],
  deeds: [1, 2].flatMap((segment): Deed[] => [
    { segment, round: 2, lateMs: 0, what: { say: `for the end ${segment}`, delivery: "queue" } },
    { segment, round: chance.int(10, 14), lateMs: 0, what: { kill: { who: "worker" } } },
  ]),
});

const SPECIAL = [toHoldingPlan, toTornPlan, toOwingPlan, toTornPlan, toOwingPlan];

export function toPlan(seed: number, index: number): Plan {
  const chance = createChance(Math.imul(seed, 31) + index * 7_919);
  const segments = chance.int(2, 3);
  const rounds = chance.int(8, 16);
  const named = pickNamed(chance, index);
  const toDeed = (what: Deed["what"]): Deed => ({
    segment: chance.int(1, segments),
    round: chance.int(1, rounds),
    lateMs: chance.isIn(50) ? 0 : chance.int(1, 80),
    what,
  });
  const kills = [
    ...(named.kill === undefined ? [] : [named.kill]),
    ...Array.from({ length: chance.int(1, 2) }, () => pickKill(chance)),
  ];
  const says = Array.from({ length: chance.int(1, 3) }, (_, n) => ({
    say: `between ${index}.${n}`,
    delivery: chance.isIn(75) ? ("steer" as const) : ("queue" as const),
  }));
  const deeds = [...kills.map((kill) => toDeed({ kill })), ...says.map((say) => toDeed(say))];
  const isCompacting = named.fault?.at === "outbox.compacting" || chance.isIn(25);
  const more = Array.from({ length: chance.int(0, 2) }, () => toWorkerFault(chance, chance.pick(WORKER_POINTS)));
  const special = SPECIAL[index - WORKER_POINTS.length - SERVER_POINTS.length];
  return {
    index,
    segments,
    rounds,
    padding: isCompacting ? 24_000 : chance.int(0, 300),
    hasEdits: chance.isIn(50),
    deeds: deeds.toSorted((a, b) => a.segment - b.segment || a.round - b.round),
    faults: [...(named.fault === undefined ? [] : [named.fault]), ...more],
    isTorn: Array.from({ length: 8 }, () => chance.isIn(40)),
    ...special?.(chance),
  };
}

export const toStepText = (segment: number, round: number | "{{round}}", padding: number) =>
  `step ${segment}.${round} ${"x".repeat(padding)}`;

/** Each segment ends by waiting for a message, so that messages arrive in the middle of the work. */
export function toScript(plan: Plan) {
  const toSegment = (segment: number) => [
    {
      repeat: {
        times: plan.rounds,
        steps: [
          { text: toStepText(segment, "{{round}}", plan.padding) },
          { tool_use: { name: "Read", input: { file_path: "{{round}}" }, result: "fine" } },
          ...(plan.hasEdits ? [{ edit: { path: `segment-${segment}.txt`, content: "{{round}}\n" } }] : []),
          { wait: 0.02 },
        ],
      },
    },
    { wait_for_message: { seconds: 600, text: `segment ${segment}` } },
  ];
  return {
    name: `chaos ${plan.index}`,
    steps: Array.from({ length: plan.segments }, (_, index) => toSegment(index + 1)).flat(),
    on_message: [{ steps: [{ text: "answer: {{message}}" }] }],
  };
}
