/** What a worker's outbox accepted, noted by the disk under it: independent of all code that could lose it later. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { NewEvent } from "@drover/contract";
import type { Disk } from "../../../worker/src/disk.ts";
import { scanFrames } from "../../../worker/src/frame.ts";
import type { LogRecord } from "../../../worker/src/outbox-log.ts";

export interface Accepted {
  readonly id: string;
  readonly type: string;
  /** Of an event that tells that the agent was given a message. */
  readonly messageId?: string;
}

function toAccepted(bytes: Buffer): readonly Accepted[] {
  return (scanFrames(bytes, 0).values as LogRecord[]).flatMap((record) =>
    record.k !== "events"
      ? []
      : record.e.map((event: NewEvent): Accepted => {
          const messageId = event.event_data["message_id"];
          const isInjected = event.event_type === "agent.message_injected" && typeof messageId === "string";
          return {
            id: event.client_event_id ?? "",
            type: event.event_type,
            ...(isInjected ? { messageId } : {}),
          };
        }),
  );
}

type Note = Accepted & { readonly step: "given" | "accepted" };

function appendNotes(path: string, step: Note["step"], events: readonly Accepted[]): void {
  const lines = events.map((event) => `\n${JSON.stringify({ step, ...event })}\n`);
  if (lines.length > 0) appendFileSync(path, lines.join(""));
}

/** Notes events when they are given to the disk, and again when the sync behind their bytes is done, which is before the outbox
 *  tells anybody that it has them. A death in between leaves an event that may or may not have been accepted. */
export function toNotingDisk(disk: Disk, path: string): Disk {
  return {
    ...disk,
    openAppend: async (name) => {
      const file = await disk.openAppend(name);
      let written: Accepted[] = [];
      return {
        ...file,
        write: async (bytes) => {
          const events = toAccepted(bytes);
          appendNotes(path, "given", events);
          await file.write(bytes);
          written.push(...events);
        },
        sync: async () => {
          const synced = written;
          written = [];
          await file.sync();
          appendNotes(path, "accepted", synced);
        },
      };
    },
  };
}

/** A line that a death cut short counts as not written. Each line begins on a new one. */
export function readNotes(path: string, step: Note["step"]): readonly Accepted[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.startsWith(`{"step":"${step}"`) && line.endsWith("}"))
    .map((line) => JSON.parse(line) as Note);
}

export const readAccepted = (path: string) => readNotes(path, "accepted");
