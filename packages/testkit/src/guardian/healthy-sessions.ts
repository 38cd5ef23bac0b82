/** Sessions that only look like trouble: slow, long, expensive or full of failing tests, and all is well. */
import type { Chance } from "../chance.ts";
import { count, endWell, lookAround, makeChange, toFailure, toPass } from "./ordinary-work.ts";
import type { RecordedSession } from "@drover/contract";
import { type Recording, startRecording } from "./recording.ts";
import { GOALS, listPaths, type Some } from "./scenery.ts";
import type { Generate } from "./troubled-sessions.ts";

type Work = (recording: Recording, files: Some<string>) => void;

/** A healthy session: its work, and a proper end, or none because the recording stopped while it went on. */
const healthy =
  (work: Work, goals: Some<string> = GOALS, isMetered = false): Generate =>
  (name: string, chance: Chance): RecordedSession => {
    const prompt = chance.pick(goals);
    const recording = startRecording(chance, { prompt, isMetered });
    work(recording, listPaths(chance, recording.project, chance.int(1, 4)));
    if (chance.isIn(75)) endWell(recording);
    return recording.toSession({
      name,
      prompt,
      owned_files: [],
      label: { signals: [], tolerated: [], is_healthy: true },
    });
  };

export const fixShortly = healthy((recording, files) => {
  lookAround(recording, recording.chance.int(1, 5));
  makeChange(recording, files);
});

export const driveByTests = healthy((recording, files) => {
  const { chance, project } = recording;
  lookAround(recording, chance.int(1, 4));
  const rounds = chance.int(8, 22);
  count(rounds, (round) => {
    count(chance.int(1, 2), () => {
      recording.ask();
      recording.edit(chance.pick(files));
    });
    recording.ask();
    const isFailing = round < rounds - 1 && chance.isIn(70);
    const result = isFailing ? toFailure(recording) : toPass(recording, round);
    recording.run(project.test, { result, isError: isFailing, seconds: chance.int(2, 45) });
  });
});

const QUESTIONS: Some<string> = [
  "Explain how a request travels through this code base, from the router to the database. Change nothing; I want a report.",
  "Find out where we depend on the order of map keys and list the places.",
  "Read the whole code base and tell me what its architecture is. I need no changes.",
];

export const exploreFar = healthy((recording) => {
  const { chance, project } = recording;
  lookAround(recording, chance.int(40, 110));
  if (chance.isIn(50)) {
    recording.ask();
    recording.run(`git log --oneline -${chance.int(10, 50)}`, { result: `a1b2c3 ${chance.pick(project.stems)}` });
  }
}, QUESTIONS);

export const buildSlowly = healthy((recording, files) => {
  const { chance, project } = recording;
  lookAround(recording, chance.int(1, 4));
  makeChange(recording, files);
  count(chance.int(1, 2), () => {
    recording.ask();
    recording.run(project.build, { result: `built ${chance.int(200, 4_000)} units`, seconds: chance.int(35, 55) * 60 });
    recording.ask();
    recording.edit(chance.pick(files));
  });
});

export const pollDeployment = healthy((recording, files) => {
  const { chance } = recording;
  makeChange(recording, files);
  const command = chance.pick([
    "kubectl rollout status deploy/api --timeout=20s",
    "gh run view --json status",
    "curl -s https://deploy.internal/status",
  ]);
  const steps = chance.int(8, 20);
  // At times it has not moved since the last look.
  for (let step = 0, looks = 0; step < steps && looks < 60; looks++) {
    step += chance.isIn(80) ? 1 : 0;
    recording.ask();
    const result = `step ${step} of ${steps}: ${Math.round((100 * step) / steps)} % ready`;
    recording.run(command, { result, seconds: chance.int(10, 60) });
  }
});

export const debugLong = healthy((recording, files) => {
  const { chance, project } = recording;
  lookAround(recording, chance.int(3, 8));
  count(chance.int(12, 30), (round) => {
    count(chance.int(1, 3), () => {
      recording.ask();
      const command = chance.isIn(50) ? project.test : `${project.test} ${chance.pick(files)}`;
      recording.run(command, { result: toFailure(recording), isError: true, seconds: chance.int(1, 25) });
    });
    recording.ask();
    if (chance.isIn(40)) recording.read(listPaths(chance, project, 1)[0]);
    recording.edit(chance.pick(files), chance.int(1, 12) + (round % 3));
  });
  recording.ask();
  recording.run(project.test, { result: toPass(recording), seconds: chance.int(3, 30) });
});

export const refactorWidely = healthy(
  (recording) => {
    const { chance, project, window } = recording;
    const many = listPaths(chance, project, chance.int(20, 50));
    for (const path of many) {
      const input = chance.int(Math.round(window * 0.05), Math.round(window * 0.3));
      recording.ask({ input, output: chance.int(1_500, 6_000), cacheRead: chance.int(5_000, 30_000), cacheWrite: 0 });
      recording.read(path);
      recording.edit(path, chance.int(40, 260), chance.int(20, 200));
      if (chance.isIn(20)) {
        recording.ask();
        recording.run(project.test, { result: toPass(recording), seconds: chance.int(5, 60) });
      }
    }
  },
  GOALS,
  true,
);

export const askAndGetAnswer = healthy((recording, files) => {
  const { chance } = recording;
  lookAround(recording, chance.int(1, 5));
  recording.ask();
  const input = { command: chance.pick(["git push origin HEAD", "npm install left-pad", "docker compose up -d"]) };
  const id = recording.open("Bash", input);
  const request = { request_id: `ask_${chance.int(1_000, 9_999)}` };
  recording.say("agent.permission_requested", {
    ...request,
    kind: "permission",
    tool_use_id: id,
    tool: "Bash",
    input,
    options: [],
    deadline_at: null,
  });
  recording.wait(chance.int(20, 110));
  const decision = chance.isIn(80) ? "allow" : "deny";
  recording.say("agent.permission_answered", { ...request, decision, by: "person" });
  recording.wait(chance.int(1, 20));
  recording.close(id, decision === "allow" ? { result: "done" } : { result: "The user denied this.", isError: true });
  makeChange(recording, files);
});

export const finishProperly = healthy((recording, files) => {
  const { chance } = recording;
  lookAround(recording, chance.int(2, 6));
  makeChange(recording, files);
  recording.ask();
  recording.run('git commit -am "Do what was asked"', { result: "1 file changed" });
  if (!chance.isIn(40)) return;
  recording.nextTurn("Thanks. Please also update the changelog.");
  recording.ask();
  recording.edit("CHANGELOG.md", 2, 0);
});

export const rereadEdited = healthy((recording, files) => {
  const { chance } = recording;
  count(chance.int(8, 24), () => {
    const path = chance.pick(files);
    recording.ask();
    recording.edit(path);
    recording.ask();
    recording.read(path);
  });
});
