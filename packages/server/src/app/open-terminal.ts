/** A terminal in a sandbox for a person, recorded from its first byte to its last. */
import { AppError, type SandboxId } from "@drover/contract";
import type { Terminal } from "../ports/sandbox-provider.ts";
import { insertAudit } from "../store/audit.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { loadRunning } from "./load-standing.ts";
import { openRecorder, saveRecording, type Size } from "./record-terminal.ts";

const RECORDING_LIMIT_BYTES = 4 * 1024 * 1024;

/** Terminals that people have open, in this process. */
const open = new Map<SandboxId, number>();

export const hasTerminal = (id: SandboxId): boolean => (open.get(id) ?? 0) > 0;

/** Contract: reading `output` to its end also ends the recording; `saved` settles when it is kept. */
export interface RecordedTerminal extends Omit<Terminal, "resize"> {
  resize(size: Size): void;
  readonly saved: Promise<void>;
}

export async function openTerminal(
  deps: Deps,
  actor: Person,
  id: SandboxId,
  size: Size,
  signal: AbortSignal,
): Promise<RecordedTerminal> {
  const { row, provider, ref } = await loadRunning(deps, id);
  if (!provider.capabilities.terminal)
    throw new AppError("sandbox.rejected", `provider ${provider.name} has no terminals`);
  await insertAudit(deps.db, {
    actor: actor.tokenId,
    action: "sandbox.terminal",
    target: id,
    project_id: row.project_id,
    detail: {},
    request_id: null,
  });
  const terminal = await provider.openTerminal(ref, size, signal);
  const recorder = openRecorder(size, deps.clock.now(), RECORDING_LIMIT_BYTES);
  const saved = Promise.withResolvers<void>();
  open.set(id, (open.get(id) ?? 0) + 1);
  const output = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of terminal.output) {
        recorder.write(chunk, deps.clock.now());
        yield chunk;
      }
    } finally {
      const left = (open.get(id) ?? 1) - 1;
      if (left === 0) open.delete(id);
      else open.set(id, left);
      // A recording that cannot be kept is no reason to hold up whoever closes the terminal.
      void saveRecording(deps, id, { recorder, size, openedBy: actor.tokenId })
        .catch((error: unknown) => deps.log.warn("terminal.recording_lost", { sandbox: id, reason: String(error) }))
        .finally(saved.resolve);
    }
  };
  return {
    output: output(),
    write: (bytes) => terminal.write(bytes),
    resize: (next) => {
      recorder.resize(next, deps.clock.now());
      terminal.resize(next.columns, next.rows);
    },
    exited: terminal.exited,
    close: () => terminal.close(),
    saved: saved.promise,
  };
}
