/** What the page shows for other programs says the same as its own request. */
import { execFileSync } from "node:child_process";
import type { NewSandbox } from "@drover/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { toCommand, toCurl, toYaml } from "./equivalents.ts";

const REQUEST: NewSandbox = {
  prompt: 'It\'s flaky:\n  find out why\n\nand "mend" $HOME',
  runtime: "claude",
  resources: { memory_gb: 2 },
  env: { A: "it's; $(id)", ON: "yes" },
};

/** What a shell makes of the arguments. */
const toArguments = (command: string): readonly string[] =>
  execFileSync("sh", ["-c", `set -- ${command}\nfor one do printf '%s\\0' "$one"; done`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

test("a shell hands curl the request letter by letter", () => {
  const words = toArguments(toCurl(REQUEST, "http://127.0.0.1:18000"));
  expect(words.slice(0, 4)).toEqual(["curl", "-X", "POST", "http://127.0.0.1:18000/api/v1/sandboxes"]);
  expect(JSON.parse(words.at(-1) ?? "")).toEqual(REQUEST);
});

test("the command line has a flag for it, or hands the whole request on", () => {
  const asked = "drover run --runtime claude --memory 2".split(" ");
  const env = ["-e", "A=it's; $(id)", "-e", "ON=yes"];
  expect(toArguments(toCommand(REQUEST))).toEqual([...asked, ...env, "--", REQUEST.prompt]);
  const words = toArguments(toCommand({ ...REQUEST, max_turns: 3 }));
  expect(words.slice(0, 4)).toEqual(["drover", "api", "createSandbox", "--body"]);
  expect(JSON.parse(words.at(-1) ?? "")).toEqual({ ...REQUEST, max_turns: 3 });
});

test("YAML says the same, whatever was typed", () => {
  expect(parse(toYaml(REQUEST))).toEqual(REQUEST);
  const text = fc.oneof(
    fc.string({ unit: "binary", minLength: 1 }),
    fc
      .array(fc.constantFrom("a", " ", "\n", "\t", "#", ":", "- ", "'", '"', "no", "1", "\\"), { minLength: 1 })
      .map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, text, fc.double({ min: 0.1, max: 8, noNaN: true }), (prompt, value, memory_gb) => {
      const request: NewSandbox = { prompt, model: value, env: { A: value }, resources: { memory_gb } };
      expect(parse(toYaml(request))).toEqual(request);
    }),
  );
});
