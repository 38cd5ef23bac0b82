/** Says that this replica is there, and looks after what others left behind. */
import { AppError } from "@drover/contract";
import { listStranded, takeOver, touchReplica } from "../store/replicas.ts";
import { changeState } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { MACHINE_BOUND } from "./stand-elsewhere.ts";

const BATCH = 100;
const BOUND: readonly string[] = [...MACHINE_BOUND];

export const touchReplicaOnce = ({ db, host }: Pick<Deps, "db" | "host">): Promise<void> => touchReplica(db, host);

/** What any replica reaches changes hands soon. What stood on a lost machine is failed after a longer time: its worker is fenced by that,
 *  should the machine still run somewhere, and destroyed when it comes back. */
export async function takeOverOnce(deps: Deps): Promise<{ taken: number; failed: number }> {
  const taken = await takeOver(deps.db, deps.host, BOUND);
  if (taken.length > 0) deps.log.info("replica.took_over", { sandboxes: taken.map(({ id }) => id) });
  let failed = 0;
  for (const one of await listStranded(deps.db, deps.host, BOUND, deps.config.replicaLostSeconds, BATCH)) {
    const cause = `its machine (${one.host}) has been silent since ${one.seen_at.toISOString()}`;
    await changeState(deps, one.id, "failed", cause).then(
      () => (failed += 1),
      (error: unknown) => {
        // Expected: another replica was faster, or it ended meanwhile.
        if (!(error instanceof AppError)) throw error;
      },
    );
  }
  return { taken: taken.length, failed };
}
