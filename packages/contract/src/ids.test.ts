import { expect, test } from "vitest";
import { ArtifactId, EventId, MessageId, ProjectId, SandboxId, TaskId, TokenId } from "./ids.ts";

const UUID = "0189abcd-0000-7000-8000-00000000000f";
const GOOD = [
  [SandboxId, "drover-0123abcd-0123ab"],
  [ProjectId, `project-${UUID}`],
  [TokenId, "tok-0123456789ab"],
  [MessageId, "msg-0123456789ab"],
  [EventId, UUID],
  [TaskId, UUID],
  [ArtifactId, "a1".repeat(32)],
] as const;

test("an id is its shape from the first to the last character", () => {
  for (const [schema, good] of GOOD) {
    expect(schema.safeParse(good).success, good).toBe(true);
    for (const bad of [
      `${good}\n`,
      ` ${good}`,
      `${good}0`,
      good.slice(0, -1),
      good.toUpperCase(),
      "",
      good.replace(/\d/, "g"),
      `${good}/..`,
    ]) {
      expect(schema.safeParse(bad).success, JSON.stringify(bad)).toBe(false);
    }
  }
});
