/** Records what a terminal shows, as asciicast v2: output and sizes, never input. https://docs.asciinema.org/manual/asciicast/v2/ */
import type { SandboxId } from "@drover/contract";
import { writeSandboxEvents } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent } from "./event-log.ts";
import { RECORDED_EVENT } from "./list-recordings.ts";
import { storeBytes } from "./store-bytes.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Recorder {
  write(chunk: Uint8Array, at: Date): void;
  resize(size: Size, at: Date): void;
  end(at: Date): { readonly bytes: Uint8Array; readonly durationMs: number; readonly isTruncated: boolean };
}

/** Keeps the beginning; a full recorder takes nothing more. */
export function openRecorder(size: Size, startedAt: Date, limitBytes: number): Recorder {
  const decoder = new TextDecoder("utf-8");
  const lines: string[] = [];
  let bytes = 0;
  let isTruncated = false;
  const push = (line: unknown) => {
    const text = `${JSON.stringify(line)}\n`;
    const length = Buffer.byteLength(text);
    if (isTruncated || bytes + length > limitBytes) return void (isTruncated = true);
    lines.push(text);
    bytes += length;
  };
  const sinceStart = (at: Date) => Math.max(0, at.getTime() - startedAt.getTime()) / 1_000;
  const show = (text: string, at: Date) => {
    if (text !== "") push([sinceStart(at), "o", text]);
  };
  push({
    version: 2,
    width: size.columns,
    height: size.rows,
    timestamp: Math.floor(startedAt.getTime() / 1_000),
    env: { TERM: "xterm-256color" },
  });
  return {
    // A character may come in two pieces; its first half waits in the decoder.
    write: (chunk, at) => show(decoder.decode(chunk, { stream: true }), at),
    resize: ({ columns, rows }, at) => push([sinceStart(at), "r", `${columns}x${rows}`]),
    end: (at) => {
      show(decoder.decode(), at);
      return { bytes: Buffer.from(lines.join("")), durationMs: Math.round(sinceStart(at) * 1_000), isTruncated };
    },
  };
}

export async function saveRecording(
  deps: Deps,
  sandboxId: SandboxId,
  { recorder, size, openedBy }: { readonly recorder: Recorder; readonly size: Size; readonly openedBy: string },
): Promise<void> {
  const { bytes, durationMs, isTruncated } = recorder.end(deps.clock.now());
  const artifact_id = await storeBytes(deps, sandboxId, bytes);
  await writeSandboxEvents(deps, sandboxId, (row) => [
    draftSandboxEvent(deps.ids, row, {
      eventType: RECORDED_EVENT,
      data: {
        artifact_id,
        size: bytes.length,
        columns: size.columns,
        rows: size.rows,
        duration_ms: durationMs,
        is_truncated: isTruncated,
        opened_by: openedBy,
      },
    }),
  ]);
}
