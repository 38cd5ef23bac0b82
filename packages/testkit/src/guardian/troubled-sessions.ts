/** Sessions in trouble by what the agent does or does not do: loops, errors, no progress, waste, silence. */
import type { Chance } from "../chance.ts";
import { beginWell, count, lookAround, makeChange, maybeEnd, toFailure } from "./ordinary-work.ts";
import type { RecordedSession } from "@drover/contract";
import { type Recording, startRecording, type RecordingParts } from "./recording.ts";
import { GOALS, listPaths, type Some } from "./scenery.ts";

export type Generate = (name: string, chance: Chance) => RecordedSession;

function start(chance: Chance, parts: Omit<RecordingParts, "prompt"> = {}) {
  const prompt = chance.pick(GOALS);
  const recording = startRecording(chance, { prompt, ...parts });
  const files = listPaths(chance, recording.project, chance.int(1, 4));
  return { prompt, recording, files };
}

interface Trouble {
  readonly name: string;
  readonly prompt: string;
  readonly signal: string;
  readonly from: number;
  readonly tolerated?: readonly string[];
}

const conclude = (recording: Recording, { name, prompt, signal, from, tolerated = [] }: Trouble): RecordedSession =>
  recording.toSession({
    name,
    prompt,
    owned_files: [],
    label: { signals: [signal], tolerated, is_healthy: false, from_seq: from },
  });

/** One call, or two or three in turn, that answer the same each time. */
export const loopOverCalls: Generate = (name, chance) => {
  const { prompt, recording, files } = start(chance);
  beginWell(recording, files);
  const isFailing = chance.isIn(35);
  const steps = listLoopSteps(recording, files, isFailing);
  const from = recording.seq + 1;
  const isNoisy = chance.isIn(30);
  count(chance.int(12, 34), () => {
    if (isNoisy && chance.isIn(12)) lookAround(recording, 1);
    for (const step of steps) {
      recording.ask();
      step();
    }
  });
  if (chance.isIn(20)) lookAround(recording, 2);
  maybeEnd(recording);
  const tolerated = isFailing ? ["no_progress", "error_streak"] : ["no_progress"];
  return conclude(recording, { name, prompt, signal: "repeated_tool", from, tolerated });
};

function listLoopSteps(recording: Recording, files: Some<string>, isFailing: boolean): (() => void)[] {
  const { chance, project } = recording;
  const failure = toFailure(recording);
  const check = chance.pick(project.checks);
  const [path] = files;
  const candidates = [
    () => recording.run(project.test, isFailing ? { result: failure, isError: true } : { result: "0 tests ran" }),
    () => recording.run(check, { result: "" }),
    () => recording.read(path),
    () => recording.use("Grep", { pattern: "TODO", path: "." }, { result: "No matches found" }),
    () => recording.use("Glob", { pattern: `**/*.${project.extension}` }, { result: path }),
  ];
  const first = isFailing ? 0 : chance.int(0, candidates.length - 1);
  return count(chance.int(1, 3), (index) => candidates[(first + index) % candidates.length] ?? (() => undefined));
}

/** Whatever it tries fails, one thing after the other, and nothing is changed in between. */
export const failInARow: Generate = (name, chance) => {
  const { prompt, recording, files } = start(chance);
  beginWell(recording, files);
  const { project } = recording;
  const from = recording.seq + 1;
  const words = listPaths(chance, project, 40);
  // At times one cheap thing works in between, which changes nothing.
  const worksAt = chance.isIn(40) ? chance.int(3, 12) : -1;
  count(chance.int(14, 30), (index) => {
    recording.ask();
    if (index === worksAt) recording.run("ls", { result: "README.md" });
    const path = words[index % words.length] ?? words[0];
    const which = chance.int(0, 4);
    if (which === 0)
      recording.run(`${project.test} ${path}`, {
        result: toFailure(recording),
        isError: true,
        seconds: chance.int(1, 20),
      });
    else if (which === 1)
      recording.run(`./scripts/setup-${index}.sh --fast`, {
        result: `bash: ./scripts/setup-${index}.sh: No such file or directory`,
        isError: true,
      });
    else if (which === 2)
      recording.use(
        "Read",
        { file_path: `${path}.orig` },
        { result: `File does not exist: ${path}.orig`, isError: true },
      );
    else if (which === 3)
      recording.use(
        "Edit",
        { file_path: path, old_string: `line ${index}`, new_string: "x" },
        { result: "String to replace not found in file.", isError: true },
      );
    else
      recording.run(`curl -sf http://localhost:${3_000 + index}/health`, {
        result: "curl: (7) Failed to connect",
        isError: true,
        seconds: 2,
      });
  });
  maybeEnd(recording, 25);
  return conclude(recording, { name, prompt, signal: "error_streak", from, tolerated: ["no_progress"] });
};

/** Reads the same few files over and over, says it wants to be sure, and changes nothing. */
export const goInCircles: Generate = (name, chance) => {
  const { prompt, recording } = start(chance);
  beginWell(recording);
  const { project } = recording;
  const same = listPaths(chance, project, chance.int(4, 8));
  const hasTurns = chance.isIn(50);
  const from = recording.seq + 1;
  count(chance.int(10, 20), (round) => {
    if (hasTurns && round > 0) recording.nextTurn(chance.pick(["Continue.", "Please go on.", "Go on with the task."]));
    count(chance.int(3, 7), () => {
      recording.ask();
      if (chance.isIn(80)) recording.read(chance.pick(same));
      else
        recording.use(
          "Grep",
          { pattern: chance.pick(["load", "parse", "total"]), path: chance.pick(same) },
          { result: "12: load\n40: load" },
        );
    });
  });
  maybeEnd(recording, 20);
  return conclude(recording, { name, prompt, signal: "no_progress", from, tolerated: ["repeated_tool"] });
};

/** Pays for very long answers and uncached requests, and not one line changes. */
export const burnTokens: Generate = (name, chance) => {
  const { prompt, recording } = start(chance, { isMetered: true });
  const { project, window } = recording;
  const from = recording.seq + 1;
  count(chance.int(45, 90), () => {
    recording.wait(chance.int(15, 70));
    const input = chance.int(Math.round(window * 0.25), Math.round(window * 0.5));
    recording.ask({ input, output: chance.int(3_000, 14_000), cacheRead: chance.int(0, 4_000), cacheWrite: 0 });
    const content = `Let me consider another design. ${chance.int(1, 99_999)} `.repeat(chance.int(10, 60));
    recording.say("agent.thinking", { content, thinking_type: "thinking" });
    if (chance.isIn(50)) recording.read(listPaths(chance, project, 1)[0]);
  });
  maybeEnd(recording, 20);
  return conclude(recording, { name, prompt, signal: "token_burn", from, tolerated: ["no_progress"] });
};

/** Works well, but its context grows until hardly anything fits into the window. */
export const fillContext: Generate = (name, chance) => {
  const { prompt, recording, files } = start(chance, { isMetered: true, isWindowKnown: true });
  const { window } = recording;
  const rounds = chance.int(14, 40);
  const top = window * (chance.int(955, 992) / 1_000);
  let from = 0;
  for (let round = 0; round <= rounds + chance.int(2, 6); round++) {
    const size = Math.round(Math.min(1, 0.15 + (0.85 * round) / rounds) * top);
    const isCached = chance.isIn(85);
    const fresh = isCached ? chance.int(200, 3_000) : size;
    recording.ask({ input: fresh, output: chance.int(80, 900), cacheRead: size - fresh, cacheWrite: 0 });
    if (from === 0 && size > window * 0.9) from = recording.seq;
    if (chance.isIn(55)) recording.edit(chance.pick(files), chance.int(10, 60));
    else recording.read(listPaths(chance, recording.project, 1)[0]);
  }
  return conclude(recording, { name, prompt, signal: "context_full", from });
};

/** Asked for something, and nobody answers. */
export const waitUnanswered: Generate = (name, chance) => {
  const { prompt, recording, files } = start(chance);
  beginWell(recording, files);
  recording.ask();
  const isQuestion = chance.isIn(40);
  const command = chance.pick([
    "git push origin HEAD",
    "npm publish --dry-run",
    "docker compose up -d",
    "rm -rf build",
  ]);
  const tool = isQuestion ? "AskUserQuestion" : "Bash";
  const input = isQuestion ? { question: "Which of the two databases should hold the new table?" } : { command };
  // Some agents ask before they name the call.
  const call = chance.isIn(65) ? { tool_use_id: recording.open(tool, input) } : {};
  const from = recording.say("agent.permission_requested", {
    request_id: `ask_${chance.int(1_000, 9_999)}`,
    kind: isQuestion ? "question" : "permission",
    ...call,
    tool,
    input,
    options: isQuestion
      ? []
      : [
          { id: "allow", name: "Allow", kind: "allow_once" },
          { id: "deny", name: "Deny", kind: "reject_once" },
        ],
    deadline_at: null,
  });
  recording.wait(chance.int(25, 120) * 60);
  return conclude(recording, { name, prompt, signal: "waiting_for_answer", from });
};

/** Has said its last words, and then only heartbeats come. */
export const lingerAfterEnd: Generate = (name, chance) => {
  const { prompt, recording, files } = start(chance);
  lookAround(recording, chance.int(2, 8));
  makeChange(recording, files);
  recording.ask();
  const from = recording.seq + 1;
  if (chance.isIn(40)) recording.complete();
  else recording.fallSilent(chance.isIn(60));
  recording.wait(chance.int(25, 100) * 60);
  return conclude(recording, { name, prompt, signal: "finished_not_ended", from });
};
