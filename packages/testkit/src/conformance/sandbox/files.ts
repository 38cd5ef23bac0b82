/** Files: in and out as bytes, and never out of the sandbox. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { refusal, type ProviderPromise } from "./given.ts";

const LIMIT_BYTES = 10_000_000;

/** A directory of the host with a file in it that no sandbox may see. */
async function makeSecret(): Promise<{ directory: string; file: string; text: string }> {
  const directory = await mkdtemp(join(tmpdir(), "drover-conformance-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, "secret");
  const text = randomBytes(16).toString("hex");
  await writeFile(file, text);
  await writeFile(join(directory, "unseen"), "");
  return { directory, file, text };
}

/** What it gave, or the refusal. */
const settle = <T>(promise: Promise<T>): Promise<T | { readonly refused: unknown }> =>
  promise.catch((refused: unknown) => ({ refused }));

export const FILE_PROMISES: readonly ProviderPromise[] = [
  {
    title: "a file comes back byte for byte, from a nested path that did not exist",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const path = `${await given.directory(ref)}/a/b c/ü'"$x.bin`;
      const bytes = randomBytes(3_000_000);
      await given.provider.upload(ref, path, bytes, {}, given.signal);
      const back = await given.provider.download(ref, path, LIMIT_BYTES, given.signal);
      expect(Buffer.from(back).equals(bytes)).toBe(true);
      const seen = await given.run(ref, { argv: ["wc", "-c", path] });
      expect(Number.parseInt(seen.stdout.toString(), 10)).toBe(bytes.length);
    },
  },
  {
    title: "an empty file is a file",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const path = `${await given.directory(ref)}/empty`;
      await given.provider.upload(ref, path, new Uint8Array(), {}, given.signal);
      expect(await given.provider.download(ref, path, LIMIT_BYTES, given.signal)).toHaveLength(0);
    },
  },
  {
    title: "a path that is relative counts from /workspace",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const directory = await given.directory(ref);
      const relative = `${directory.slice("/workspace/".length)}/note`;
      await given.provider.upload(ref, relative, Buffer.from("here"), {}, given.signal);
      expect(await given.shell(ref, "cat note", directory)).toBe("here");
      const back = await given.provider.download(ref, relative, LIMIT_BYTES, given.signal);
      expect(Buffer.from(back).toString()).toBe("here");
    },
  },
  {
    title: "an upload replaces what was there, and has the mode it was given",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const path = `${await given.directory(ref)}/program`;
      await given.provider.upload(ref, path, Buffer.from("a longer text that was here before"), {}, given.signal);
      const script = Buffer.from("#!/bin/sh\necho ran\n");
      await given.provider.upload(ref, path, script, { mode: 0o750 }, given.signal);
      expect(await given.shell(ref, `stat -c %a '${path}'; '${path}'`)).toBe("750\nran\n");
    },
  },
  {
    title: "what commands can write, uploads can replace, and the other way round",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const directory = await given.directory(ref);
      await given.shell(ref, "echo mine > shared", directory);
      await given.provider.upload(ref, `${directory}/shared`, Buffer.from("yours\n"), {}, given.signal);
      expect(await given.shell(ref, "echo mine >> shared; cat shared", directory)).toBe("yours\nmine\n");
    },
  },
  {
    title: "the temporary directory is the one that commands see",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      await given.provider.upload(ref, "/tmp/conformance/note", Buffer.from("seen"), {}, given.signal);
      expect(await given.shell(ref, "cat /tmp/conformance/note")).toBe("seen");
      const back = await given.provider.download(ref, "/tmp/conformance/note", LIMIT_BYTES, given.signal);
      expect(Buffer.from(back).toString()).toBe("seen");
    },
  },
  {
    title: "a missing file is file.not_found",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const missing = `${await given.directory(ref)}/missing`;
      const { provider, signal } = given;
      await expect(provider.download(ref, missing, LIMIT_BYTES, signal)).rejects.toEqual(refusal("file.not_found"));
      await expect(provider.listFiles(ref, missing, signal)).rejects.toEqual(refusal("file.not_found"));
    },
  },
  {
    title: "a file larger than the limit is refused; one as large as it is not",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const path = `${await given.directory(ref)}/large`;
      await given.provider.upload(ref, path, randomBytes(1_001), {}, given.signal);
      const { provider, signal } = given;
      await expect(provider.download(ref, path, 1_000, signal)).rejects.toEqual(refusal("sandbox.rejected"));
      expect(await provider.download(ref, path, 1_001, signal)).toHaveLength(1_001);
    },
  },
  {
    title: "a directory, a pipe and a device are refused, at once",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const directory = await given.directory(ref);
      await given.shell(ref, "mkfifo pipe", directory);
      for (const path of [directory, `${directory}/pipe`, "/dev/zero"]) {
        const downloaded = given.provider.download(ref, path, LIMIT_BYTES, given.signal);
        await expect(downloaded).rejects.toEqual(refusal("sandbox.rejected"));
      }
    },
  },
  {
    title: "a link out of the sandbox gives nothing of the host and changes nothing there",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const secret = await makeSecret();
      const cwd = await given.directory(ref);
      const climb = "../".repeat(20);
      await given.shell(ref, `ln -s ${secret.file} file; ln -s ${climb}${secret.file.slice(1)} climb`, cwd);
      await given.shell(ref, `ln -s ${secret.directory} directory; ln -s / root`, cwd);
      const ways = ["file", "climb", "directory/secret", `root${secret.file}`, `${climb}${secret.file.slice(1)}`];
      const { provider, signal } = given;
      for (const way of ways) {
        const downloaded = await settle(provider.download(ref, `${cwd}/${way}`, LIMIT_BYTES, signal));
        expect(downloaded).toEqual({ refused: refusal("file.not_found", "sandbox.rejected") });
      }
      // What these write, if anything, is the sandbox's own.
      for (const way of [...ways, "directory/planted"])
        await settle(provider.upload(ref, `${cwd}/${way}`, Buffer.from("changed"), {}, signal));
      const listed = await settle(provider.listFiles(ref, `${cwd}/directory`, signal));
      expect(JSON.stringify(listed)).not.toContain("unseen");
      expect(await readFile(secret.file, "utf8")).toBe(secret.text);
      expect((await readdir(secret.directory)).toSorted()).toEqual(["secret", "unseen"]);
    },
  },
  {
    title: "a listing tells names, kinds, sizes and times",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const cwd = await given.directory(ref);
      const make =
        "mkdir sub; printf 12345 > .hidden; printf x > 'a b\nc'; ln -s nowhere link; mkfifo pipe; touch -d @1700000000 .hidden; touch $(printf 'no\\377text')";
      await given.shell(ref, make, cwd);
      const entries = await given.provider.listFiles(ref, cwd, given.signal);
      expect(entries.map(({ name, kind }) => `${kind} ${name}`).toSorted()).toEqual([
        "directory sub",
        "file .hidden",
        "file a b\nc",
        "file no\uFFFDtext",
        "other pipe",
        "symlink link",
      ]);
      const hidden = entries.find(({ name }) => name === ".hidden");
      expect(hidden).toMatchObject({ size: 5, modifiedAt: new Date(1_700_000_000_000) });
    },
  },
  {
    title: "an empty directory lists nothing",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      expect(await given.provider.listFiles(ref, await given.directory(ref), given.signal)).toEqual([]);
    },
  },
];
