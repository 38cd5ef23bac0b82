/** How good the signals are: recorded runs are played to them, and what they raise is compared with what people said. */
import type { RecordedSession } from "@drover/contract";
import { decideIntervention, GUARDIAN_MODES, type GuardianMode, type PastIntervention, type Rung } from "./guardian.ts";
import { foldSignals, NO_SIGNAL_STATES, readSignals, SIGNALS, type RunContext, type Signal } from "./signals.ts";

/** The guardian looks once a minute, whatever happens between. */
const BEAT_MS = 60_000;
const COOL_DOWN_MS = 300_000;
const MOST_INTERVENTIONS = 5;

interface Raised {
  readonly signal: string;
  readonly atMs: number;
}

interface Played {
  readonly raised: readonly Raised[];
  readonly done: Readonly<Record<GuardianMode, readonly PastIntervention[]>>;
}

/** Everything that the guardian would have seen at its beats; nobody answers a nudge, so that the ladder is climbed. */
export function playSession(session: RecordedSession): Played {
  const run: RunContext = {
    ownedFiles: session.owned_files,
    prompt: session.prompt,
    contextTokens: session.context_tokens,
  };
  const raised = new Map<string, Raised>();
  const done: Record<GuardianMode, PastIntervention[]> = { shadow: [], nudge: [], full: [] };
  let states = NO_SIGNAL_STATES;
  let beatMs = session.events[0]?.atMs ?? 0;
  const look = (signals: readonly Signal[], atMs: number) => {
    for (const { signal } of signals) if (!raised.has(signal)) raised.set(signal, { signal, atMs });
    for (const mode of GUARDIAN_MODES) {
      const settings = { mode, coolDownMs: COOL_DOWN_MS, mostPerSandbox: MOST_INTERVENTIONS };
      const intention = decideIntervention(signals, done[mode], settings, atMs);
      if (intention === undefined) continue;
      done[mode].push({ signal: intention.signal.signal, rung: intention.rung, atMs, outcome: "no_effect" });
    }
  };
  for (const event of session.events) {
    while (event.atMs - beatMs >= BEAT_MS) {
      beatMs += BEAT_MS;
      look(readSignals(states, run, beatMs), beatMs);
    }
    states = foldSignals(states, event, run);
  }
  const last = session.events.at(-1);
  if (last !== undefined) look(readSignals(states, run, last.atMs), last.atMs);
  return { raised: [...raised.values()], done };
}

export interface SignalScore {
  readonly signal: string;
  /** Runs in which people wanted it. */
  readonly wanted: number;
  readonly raised: number;
  readonly right: number;
  /** Null where nothing was raised, or nothing wanted. */
  readonly precision: number | null;
  readonly recall: number | null;
  /** From where the trouble begins to the beat that saw it, in seconds; the middle one. */
  readonly delaySeconds: number | null;
}

export interface GuardianScore {
  readonly sessions: number;
  readonly healthy: number;
  readonly signals: readonly SignalScore[];
  /** The same of what each mode did about them: notes, words and all that is further. */
  readonly modes: Readonly<Record<GuardianMode, readonly SignalScore[]>>;
  readonly overall: { readonly precision: number | null; readonly recall: number | null };
  /** Healthy runs that each mode would have spoken to, paused or stopped. */
  readonly healthyDisturbed: Readonly<Record<GuardianMode, Readonly<Partial<Record<Rung, number>>>>>;
}

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
const middle = (values: readonly number[]): number | null =>
  values.length === 0 ? null : (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null);

/** What was seen in a session, oldest first. */
type Seen = readonly [RecordedSession, readonly Raised[]];

function scoreSignal(signal: string, played: readonly Seen[]): SignalScore {
  const wanted = played.filter(([session]) => session.label.signals.includes(signal));
  const raised = played.filter(
    ([session, all]) => all.some((one) => one.signal === signal) && !session.label.tolerated.includes(signal),
  );
  const right = raised.filter(([session]) => session.label.signals.includes(signal));
  const delays = right.flatMap(([session, all]) => {
    const from = session.events.find(({ seq }) => seq === session.label.from_seq);
    const seen = all.find((one) => one.signal === signal);
    return from === undefined || seen === undefined ? [] : [Math.max(0, seen.atMs - from.atMs) / 1_000];
  });
  return {
    signal,
    wanted: wanted.length,
    raised: raised.length,
    right: right.length,
    precision: share(right.length, raised.length),
    recall: share(right.length, wanted.length),
    delaySeconds: middle(delays),
  };
}

export function evaluateGuardian(sessions: readonly RecordedSession[]): GuardianScore {
  const played = sessions.map((session) => [session, playSession(session)] as const);
  const scoreAll = (see: (one: Played) => readonly Raised[]) => {
    const seen = played.map(([session, one]): Seen => [session, see(one)]);
    return SIGNALS.map((signal) => scoreSignal(signal, seen));
  };
  const signals = scoreAll(({ raised }) => raised);
  const sum = (of: (score: SignalScore) => number) => signals.reduce((total, score) => total + of(score), 0);
  const healthy = played.filter(([session]) => session.label.is_healthy);
  const countRungs = (mode: GuardianMode) => {
    const worst = healthy
      .flatMap(([, { done }]) => [...new Set(done[mode].map(({ rung }) => rung))])
      .filter((rung) => rung !== "note");
    return Object.fromEntries([...Map.groupBy(worst, (rung) => rung)].map(([rung, all]) => [rung, all.length]));
  };
  return {
    sessions: sessions.length,
    healthy: healthy.length,
    signals,
    modes: {
      shadow: scoreAll(({ done }) => done.shadow),
      nudge: scoreAll(({ done }) => done.nudge),
      full: scoreAll(({ done }) => done.full),
    },
    overall: {
      precision: share(
        sum(({ right }) => right),
        sum(({ raised }) => raised),
      ),
      recall: share(
        sum(({ right }) => right),
        sum(({ wanted }) => wanted),
      ),
    },
    healthyDisturbed: { shadow: countRungs("shadow"), nudge: countRungs("nudge"), full: countRungs("full") },
  };
}
