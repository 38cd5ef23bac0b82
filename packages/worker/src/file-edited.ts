/** A patch as the `agent.file_edited` event: inline when small, else kept as an artifact. */
import type { AgentEvent } from "./agent-runtime.ts";
import type { Patch } from "./patch.ts";

const INLINE_CHARACTERS = 50_000;
const PREVIEW = { lines: 100, characters: 5_000 };

function toPreview(text: string): string {
  const lines = text.split("\n");
  const more = lines.length - PREVIEW.lines;
  const head = more > 0 ? `${lines.slice(0, PREVIEW.lines).join("\n")}\n… (${more} more lines)` : text;
  return head.length > PREVIEW.characters ? `${head.slice(0, PREVIEW.characters)}…` : head;
}

export interface EditedFile {
  readonly turn: number;
  readonly toolUseId: string;
  readonly name: string;
  readonly oldName: string | undefined;
  readonly patch: Patch;
}

export async function toFileEdited(
  edited: EditedFile,
  keepArtifact: (bytes: Buffer) => Promise<string>,
): Promise<AgentEvent> {
  const { patch } = edited;
  const isInline = patch.text.length <= INLINE_CHARACTERS;
  return {
    event_type: "agent.file_edited",
    event_data: {
      turn: edited.turn,
      tool_use_id: edited.toolUseId,
      file_path: edited.name,
      change_type: patch.changeType,
      ...(edited.oldName === undefined ? {} : { old_path: edited.oldName }),
      lines_added: patch.linesAdded,
      lines_removed: patch.linesRemoved,
      diff_preview: toPreview(patch.text),
      full_diff: isInline ? patch.text : null,
      full_diff_size: patch.text.length,
      ...(isInline ? {} : { full_diff_artifact: await keepArtifact(Buffer.from(patch.text, "utf8")) }),
    },
  };
}
