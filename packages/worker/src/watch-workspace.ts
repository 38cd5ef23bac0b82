/** Tells what changed in the workspace since the last time it was asked, whoever changed it, and keeps a checkpoint of it. */
import type { Json } from "@drover/contract";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { AgentEvent, Boundary } from "./agent-runtime.ts";
import { listChanges } from "./changes.ts";
import { makeCheckpoint } from "./checkpoint.ts";
import type { Clock } from "./clock.ts";
import { toFileEdited } from "./file-edited.ts";
import { createGit } from "./git.ts";
import type { Log } from "./log.ts";
import { EMPTY_TREE, openWorkspace, type PathBytes, type Snapshot, toBytes, type Workspace } from "./workspace.ts";

/** Told one by one up to here; a step that changes more says how many. */
const TOLD_LIMIT = 500;
const LEFT_OUT_LIMIT = 200;
const ASKED_LIMIT = 1_000;

const Noted = z.object({
  commit: z.string().nullable(),
  left_out: z.array(z.object({ path: z.string(), size: z.number(), modified_ms: z.number() })).default([]),
});

export const CHECKPOINT_NOTE = "checkpoint";

/** The journal's note behind the event: from there the next life goes on. */
export const toCheckpointNote = ({ event_data: data }: AgentEvent): Json =>
  JSON.parse(JSON.stringify({ commit: data["commit"] ?? null, left_out: data["left_out"] ?? [] })) as Json;

export interface WorkspaceWatch {
  /** The first checkpoint, if the workspace holds anything and has none. */
  begin(): Promise<readonly AgentEvent[]>;
  /** Puts files in place before the work begins; a workspace that holds something is replaced only if it `isOurs`. Tells whether it
   *  did. Throws when it cannot. */
  restore(pack: Buffer, tree: string, isOurs: boolean): Promise<boolean>;
  /** To be noted with the first checkpoint; later ones are noted with their events. */
  toNote(): Json;
  /** What changed, each change once, then the checkpoint. Asked again for the same tool it has nothing to say. Never throws:
   *  what cannot be told is logged. */
  capture(boundary: Boundary): Promise<readonly AgentEvent[]>;
  /** Files that are not as they were when the work began, as of the last look; null when that is not known. */
  countChanged(): Promise<number | null>;
}

export interface WatchParts {
  readonly cwd: string;
  readonly stateDir: string;
  readonly path: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly keepArtifact: (bytes: Buffer) => Promise<string>;
  /** What was noted with the last checkpoint. */
  readonly note: Json | undefined;
}

/** In the worker's repository: the tree with which the work began. */
const BEGUN = "begun";

interface Base extends Snapshot {
  readonly commit: string | undefined;
}

const toLeftOut = ({ huge }: Snapshot) =>
  [...huge].slice(0, LEFT_OUT_LIMIT).map(([path, { size, modifiedMs }]) => ({
    path: toBytes(path).toString("base64"),
    size,
    modified_ms: modifiedMs,
  }));

async function toBase(workspace: Workspace, note: Json | undefined): Promise<Base | undefined> {
  const noted = Noted.safeParse(note).data;
  if (noted === undefined) return undefined;
  const huge = new Map<PathBytes, { size: number; modifiedMs: number }>(
    noted.left_out.map(({ path, size, modified_ms }) => [
      Buffer.from(path, "base64").toString("latin1"),
      { size, modifiedMs: modified_ms },
    ]),
  );
  if (noted.commit === null) return { tree: EMPTY_TREE, commit: undefined, huge };
  const found = await workspace
    .run(["rev-parse", "--verify", "--quiet", `${noted.commit}^{tree}`])
    .catch(() => undefined);
  return found === undefined ? undefined : { tree: found.toString("utf8").trim(), commit: noted.commit, huge };
}

export function watchWorkspace(parts: WatchParts): WorkspaceWatch {
  let opened: Promise<Workspace> | undefined;
  let base: Base | undefined;
  let isTold = false;
  let last: Promise<unknown> = Promise.resolve();
  const asked = new Set<string>();

  const open = () =>
    (opened ??= openWorkspace({
      git: createGit(parts.path),
      cwd: parts.cwd,
      gitDir: join(parts.stateDir, "workspace.git"),
      stateDir: parts.stateDir,
    }));

  const save = async (workspace: Workspace, now: Snapshot, turn: number, files: number, more: object) => {
    const about = { tree: now.tree, parent: base?.commit, at: parts.clock.now(), about: `turn ${turn}` };
    const { commit, packs } = await makeCheckpoint(workspace, about, parts.keepArtifact);
    const parent = base?.commit ?? null;
    base = { ...now, commit };
    const event_data = {
      turn,
      commit,
      parent,
      files_changed: files,
      pack_artifact: packs?.[0] ?? null,
      ...(packs !== undefined && packs.length > 1 ? { pack_artifacts: packs } : {}),
      ...(now.huge.size === 0 ? {} : { left_out: toLeftOut(now) }),
      ...more,
    };
    return { event_type: "workspace.checkpoint", event_data };
  };

  const begin = async (): Promise<readonly AgentEvent[]> => {
    const workspace = await open();
    base = await toBase(workspace, parts.note);
    if (base !== undefined) return [];
    const now = await workspace.snapshot();
    await writeFile(join(workspace.gitDir, BEGUN), now.tree);
    if (now.tree !== EMPTY_TREE) return [await save(workspace, now, 0, 0, {})];
    base = { ...now, commit: undefined };
    await workspace.standAlone();
    return [];
  };

  const capture = async ({ turn, toolUseId }: Boundary): Promise<readonly AgentEvent[]> => {
    const workspace = await open();
    if (base === undefined) return begin();
    const now = await workspace.snapshot();
    const { changes, total } = await listChanges(workspace, base, now, TOLD_LIMIT);
    if (total === 0) return [];
    const edited: AgentEvent[] = [];
    for (const change of changes) edited.push(await toFileEdited({ turn, toolUseId, change }, parts.keepArtifact));
    const more = total > changes.length ? { files_not_told: total - changes.length } : {};
    return [...edited, await save(workspace, now, turn, total, more)];
  };

  const countChanged = async (): Promise<number | null> => {
    if (base === undefined) return null;
    const { gitDir, run } = await open();
    const begun = await readFile(join(gitDir, BEGUN), "utf8");
    const names = await run(["diff-tree", "-r", "-M", "-l200", "-z", "--name-only", begun, base.tree]);
    return names.toString("latin1").split("\0").length - 1;
  };

  /** One at a time, in the order they were asked for. */
  const guard = (work: () => Promise<readonly AgentEvent[]>): Promise<readonly AgentEvent[]> => {
    const done = last.then(work).catch((error: unknown): readonly AgentEvent[] => {
      // Expected: no git here, a workspace too large, a disk that is full. The work goes on; the next boundary tries again.
      const reason = error instanceof Error ? error.message : String(error);
      parts.log("workspace.unwatched", { reason });
      if (base === undefined) opened = undefined;
      if (isTold) return [];
      isTold = true;
      return [{ event_type: "workspace.unwatched", event_data: { reason: reason.slice(0, 2_000) } }];
    });
    last = done;
    return done;
  };

  const isAsked = ({ kind, toolUseId }: Boundary) => {
    if (kind !== "tool" || toolUseId === undefined) return false;
    if (asked.has(toolUseId)) return true;
    asked.add(toolUseId);
    for (const oldest of asked) if (asked.size > ASKED_LIMIT) asked.delete(oldest);
    return false;
  };

  return {
    begin: () => guard(begin),
    async restore(pack, tree, isOurs) {
      const workspace = await open();
      const now = await workspace.snapshot();
      if (now.tree !== EMPTY_TREE && !isOurs) return false;
      await workspace.run(["index-pack", "--stdin", "--strict"], pack);
      await workspace.checkout(now, tree);
      return true;
    },
    toNote: () => ({ commit: base?.commit ?? null, left_out: base === undefined ? [] : toLeftOut(base) }),
    // Expected: no git here, or a journal of a worker that did not note how it began.
    countChanged: () => last.then(countChanged).catch(() => null),
    capture: (boundary) => (isAsked(boundary) ? Promise.resolve([]) : guard(() => capture(boundary))),
  };
}
