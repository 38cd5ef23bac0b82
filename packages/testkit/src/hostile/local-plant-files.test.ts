import { expect } from "vitest";
import { refusal } from "../conformance/sandbox/given.ts";
import { describeHostile, type Attempt } from "./attempt.ts";
import { openLocal } from "./open-local.ts";
import { PLANT_FILES } from "./plant-files.ts";

/** An engine's command follows them, inside; a supervisor does not. */
const LINKED_WAY: Attempt = {
  title: "an upload whose way leads through a link is refused",
  fails: async (given) => {
    const ref = await given.attacker();
    const cwd = await given.directory(ref);
    await given.shell(ref, "mkdir real; ln -s real way; ln -s ../real real/back", cwd);
    for (const path of [`${cwd}/way/planted`, `${cwd}/real/back/planted`])
      await expect(given.provider.upload(ref, path, Buffer.from("x"), {}, given.signal)).rejects.toEqual(
        refusal("sandbox.rejected"),
      );
    expect(await given.shell(ref, "ls real", cwd)).toBe("back\n");
  },
};

describeHostile({ name: "local", open: openLocal, attempts: [...PLANT_FILES, LINKED_WAY] });
