/** The run that a file carries, written into it as text by the server. */
import type { LogEvent } from "@drover/client";

export interface RunFile {
  readonly exported_at: string;
  readonly sandbox: {
    readonly id: string;
    readonly state: string;
    readonly runtime: string | null;
    readonly model: string | null;
    readonly prompt: string | null;
    readonly branch: string | null;
  };
  readonly events: readonly LogEvent[];
}

/** Absent from a file that was cut off on its way here. */
export function readRunFile(): RunFile | undefined {
  try {
    return JSON.parse(document.getElementById("run")?.textContent ?? "") as RunFile;
  } catch {
    return undefined;
  }
}
