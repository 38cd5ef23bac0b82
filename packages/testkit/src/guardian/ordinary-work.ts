/** Pieces of ordinary work that stand before, between and after what a session is about. */
import type { Recording } from "./recording.ts";
import { listPaths, type Some } from "./scenery.ts";

export const count = <T>(times: number, act: (index: number) => T): T[] =>
  Array.from({ length: times }, (_, index) => act(index));

export function toPass(recording: Recording, round = 0): string {
  const { chance } = recording;
  return `${chance.int(12, 90) + round} passed in ${chance.int(8, 220) / 10}s`;
}

export function toFailure(recording: Recording, failed = recording.chance.int(1, 6)): string {
  const { chance, project } = recording;
  return `${chance.pick(project.failures)}\n    at line ${chance.int(8, 340)}\n${failed} failed, ${chance.int(10, 80)} passed in ${chance.int(9, 200) / 10}s`;
}

/** Looks around: different files, a search or two. */
export function lookAround(recording: Recording, reads: number): void {
  const { chance, project } = recording;
  for (const path of listPaths(chance, project, reads).slice(0, reads)) {
    recording.ask();
    if (chance.isIn(35)) {
      const pattern = `${chance.pick(project.stems)}_${chance.int(1, 99)}`;
      recording.use("Grep", { pattern, path: "." }, { result: `${path}:${chance.int(3, 200)}: ${pattern}` });
    }
    recording.read(path);
  }
}

/** Changes files and runs the tests, which pass. */
export function makeChange(recording: Recording, files: Some<string>, edits = recording.chance.int(1, 4)): void {
  const { chance, project } = recording;
  count(edits, () => {
    recording.ask();
    recording.edit(chance.pick(files));
  });
  recording.ask();
  recording.run(project.test, { result: toPass(recording), seconds: chance.int(3, 40) });
}

/** A run that goes well up to here: some reading, at times a change. */
export function beginWell(recording: Recording, files?: Some<string>): void {
  const { chance } = recording;
  lookAround(recording, chance.int(2, 7));
  if (files !== undefined && chance.isIn(60)) makeChange(recording, files);
}

export function endWell(recording: Recording): void {
  recording.ask();
  recording.complete();
  recording.wait(recording.chance.int(5, 100));
  recording.shutDown("completed");
}

/** A session is cut off where its recording ended, or the agent goes on and ends well. */
export function maybeEnd(recording: Recording, percent = 30): void {
  if (recording.chance.isIn(percent)) endWell(recording);
}
