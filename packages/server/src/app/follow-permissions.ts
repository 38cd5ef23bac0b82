/** Keeps permission requests as their events tell of them, in the transaction of those events. */
import { PermissionAnswered, PermissionRequested, type JsonObject, type SandboxId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertPermission, settlePermission } from "../store/permissions.ts";

interface Told {
  readonly sandbox: { readonly id: SandboxId } | null;
  readonly eventType: string;
  readonly data: JsonObject;
  readonly generation: number | null;
  readonly isFollowed: boolean;
}

/** Whether such an event may be more than an event. */
export const isPermission = ({ eventType }: Pick<Told, "eventType">): boolean =>
  eventType === "agent.permission_requested" || eventType === "agent.permission_answered";

/** An event that is not as it should be is only an event: a worker's word is a claim. */
export async function followPermissions(tx: Db, events: readonly Told[]): Promise<void> {
  for (const { sandbox, eventType, data, generation, isFollowed } of events) {
    if (!isFollowed || sandbox === null || generation === null) continue;
    if (eventType === "agent.permission_requested") {
      const asked = PermissionRequested.safeParse(data);
      if (asked.success) await insertPermission(tx, sandbox.id, generation, asked.data);
    } else if (eventType === "agent.permission_answered") {
      const told = PermissionAnswered.safeParse(data);
      if (told.success) await settlePermission(tx, sandbox.id, told.data);
    }
  }
}
