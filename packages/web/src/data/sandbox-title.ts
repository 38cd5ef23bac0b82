/** What a sandbox is called: what it was asked, else its id. */
import type { Sandbox } from "@drover/contract";

const TITLE_CHARACTERS = 120;

export function toTitle(sandbox: Pick<Sandbox, "id" | "prompt" | "labels">): string {
  const named =
    sandbox.labels["title"] ?? sandbox.labels["name"] ?? sandbox.prompt?.trim().split("\n")[0]?.trim() ?? "";
  if (named === "") return sandbox.id;
  return named.length > TITLE_CHARACTERS ? `${named.slice(0, TITLE_CHARACTERS - 1)}…` : named;
}
