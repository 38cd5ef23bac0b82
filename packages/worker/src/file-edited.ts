/** A change as the `agent.file_edited` event: its patch inline when small, else kept as an artifact. */
import type { AgentEvent } from "./agent-runtime.ts";
import type { Change } from "./changes.ts";

const INLINE_CHARACTERS = 50_000;
/** Control characters take six bytes each: an event must stay below its limit. */
const INLINE_BYTES = 180_000;
const PREVIEW = { lines: 100, characters: 5_000 };

function toPreview(text: string): string {
  const lines = text.split("\n");
  const more = lines.length - PREVIEW.lines;
  const head = more > 0 ? `${lines.slice(0, PREVIEW.lines).join("\n")}\n… (${more} more lines)` : text;
  return head.length > PREVIEW.characters ? `${head.slice(0, PREVIEW.characters)}…` : head;
}

const isSmall = (text: string) =>
  text.length <= INLINE_CHARACTERS && Buffer.byteLength(JSON.stringify(text)) <= INLINE_BYTES;

export interface EditedFile {
  readonly turn: number;
  readonly toolUseId: string | undefined;
  readonly change: Change;
}

export async function toFileEdited(
  { turn, toolUseId, change }: EditedFile,
  keepArtifact: (bytes: Buffer) => Promise<string>,
): Promise<AgentEvent> {
  const patch = change.patch ?? "";
  const isInline = isSmall(patch);
  return {
    event_type: "agent.file_edited",
    event_data: {
      turn,
      ...(toolUseId === undefined ? {} : { tool_use_id: toolUseId }),
      file_path: change.name,
      change_type: change.changeType,
      ...(change.oldName === undefined ? {} : { old_path: change.oldName }),
      lines_added: change.linesAdded,
      lines_removed: change.linesRemoved,
      diff_preview: toPreview(patch),
      full_diff: change.patch !== undefined && isInline ? patch : null,
      full_diff_available: change.patch !== undefined,
      full_diff_size: patch.length,
      ...(isInline ? {} : { full_diff_artifact: await keepArtifact(Buffer.from(patch, "utf8")) }),
      ...(change.isBinary ? { is_binary: true } : {}),
      ...(change.patch === undefined ? { is_too_large: true } : {}),
      ...(change.size === undefined ? {} : { size: change.size }),
    },
  };
}
