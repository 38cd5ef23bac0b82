/** Files planted for whoever uploads, downloads and lists. */
import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { refusal, unique } from "../conformance/sandbox/given.ts";
import type { Attempt } from "./attempt.ts";

const LIMIT = 1_000_000;

export const PLANT_FILES: readonly Attempt[] = [
  {
    title: "links to the host's files give nothing and change nothing, whatever they point through",
    fails: async (given) => {
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      const before = await readFile("/etc/passwd", "utf8");
      await given.shell(
        ref,
        `ln -s /proc/1/root/etc/shadow one; ln -s /proc/self/root/etc/shadow two; ln -s /proc/1/cwd three; ln -s /etc/passwd four; ln -s ${"../".repeat(30)}etc/shadow five; ln -s loop loop; mkdir sub; ln -s /etc sub/etc`,
        cwd,
      );
      for (const name of ["one", "two", "five", "loop", "sub/etc/shadow"]) {
        await expect(given.provider.download(ref, `${cwd}/${name}`, LIMIT, given.signal)).rejects.toEqual(
          refusal("file.not_found", "sandbox.rejected"),
        );
      }
      for (const name of ["four", "sub/etc/passwd", "three/planted", "loop"]) {
        await given.provider
          .upload(ref, `${cwd}/${name}`, Buffer.from("changed"), {}, given.signal)
          .catch(() => undefined);
      }
      expect(await readFile("/etc/passwd", "utf8")).toBe(before);
      expect(await given.shell(ref, "grep -c changed /etc/passwd || true")).toBe("0\n");
    },
  },
  {
    title: "a hard link to what is not the agent's cannot be made, and one to its own leads nowhere else",
    fails: async (given) => {
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      const said = await given.tryShell(
        ref,
        `cd ${cwd}; for f in ${given.ground.fixed.join(" ")} /run/cp/api.sock; do ln $f hard 2>/dev/null && echo linked $f; done; echo done`,
      );
      expect(said).toBe("done\n");
      await given.shell(ref, "echo mine > own; ln own twin", cwd);
      await given.provider.upload(ref, `${cwd}/twin`, Buffer.from("replaced"), {}, given.signal);
      // Written into the file, or put in the place of its name.
      expect(await given.shell(ref, "cat own; cat twin", cwd)).toBeOneOf(["replacedreplaced", "mine\nreplaced"]);
    },
  },
  {
    title: "an upload to a name that is a link leaves alone what the link leads to",
    fails: async (given) => {
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      await given.shell(ref, "echo mine > ~/kept; ln -s ~/kept link; ln -s ~/made-by-link dangling", cwd);
      for (const name of ["link", "dangling"])
        await given.provider
          .upload(ref, `${cwd}/${name}`, Buffer.from("changed"), {}, given.signal)
          .catch(() => undefined);
      expect(await given.shell(ref, "cat ~/kept; test -e ~/made-by-link || echo none")).toBe("mine\nnone\n");
    },
  },
  {
    title: "a link that changes while an upload runs never leads out of the sandbox",
    fails: async (given) => {
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      await given.shell(ref, "mkdir real", cwd);
      const flip = `while test -e ${cwd}; do ln -sfn /etc ${cwd}/way; ln -sfn real ${cwd}/way; rm -f ${cwd}/way; mkdir ${cwd}/way; rmdir ${cwd}/way 2>/dev/null || rm -rf ${cwd}/way; done`;
      await given.provider.startDetached(ref, { argv: ["sh", "-c", flip] }, given.signal);
      const word = unique("planted");
      for (let tries = 0; tries < 40; tries += 1)
        await given.provider
          .upload(ref, `${cwd}/way/${word}`, Buffer.from(word), {}, given.signal)
          .catch(() => undefined);
      await given.shell(ref, `rm -rf ${cwd}`).catch(() => undefined);
      expect(await given.shell(ref, `ls /etc | grep -c ${word} || true`)).toBe("0\n");
      await expect(readFile(`/etc/${word}`)).rejects.toThrow("ENOENT");
    },
  },
  {
    title: "a pipe, a socket and a device in an upload's or download's way are refused at once",
    fails: async (given) => {
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      await given.shell(
        ref,
        `mkfifo pipe; node -e 'require("node:net").createServer().listen("sock", () => process.exit())'; node -e 'require("node:net").createServer().listen("left"); setTimeout(() => process.kill(process.pid, "SIGKILL"), 50)' || true`,
        cwd,
      );
      for (const name of [`${cwd}/pipe`, `${cwd}/left`, "/dev/full", "/dev/zero"]) {
        await expect(given.provider.download(ref, name, LIMIT, given.signal)).rejects.toEqual(
          refusal("sandbox.rejected", "file.not_found"),
        );
        await expect(given.provider.upload(ref, name, Buffer.from("x"), {}, given.signal)).rejects.toEqual(
          refusal("sandbox.rejected"),
        );
      }
      await given.expectAlive(ref);
    },
  },
  {
    title: "a file that grows while it is read gives no more than the limit",
    fails: async (given) => {
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      await given.shell(ref, "printf x > growing", cwd);
      await given.provider.startDetached(
        ref,
        { argv: ["sh", "-c", `while test -e ${cwd}/growing; do head -c 100000 /dev/zero >> ${cwd}/growing; done`] },
        given.signal,
      );
      for (let tries = 0; tries < 10; tries += 1) {
        const bytes = await given.provider
          .download(ref, `${cwd}/growing`, LIMIT, given.signal)
          .catch(() => new Uint8Array());
        expect(bytes.length).toBeLessThanOrEqual(LIMIT);
      }
      await given.shell(ref, `rm -rf ${cwd}; sleep 0.1; rm -rf ${cwd}`);
    },
  },
  {
    title: "names that are no text, times that are no dates and twenty thousand files do not break a listing",
    fails: async (given) => {
      const ref = await given.attacker();
      await given.shell(
        ref,
        `mkdir /tmp/odd; cd /tmp/odd; touch "$(printf 'bad\\377name')" "$(printf 'new\\nline')" '..x' ./-rf "$(printf '\\033[2Jname')"; touch -d @99999999999999 far; touch -d @-99999999999999 past`,
      );
      const entries = await given.provider.listFiles(ref, "/tmp/odd", given.signal);
      expect(entries.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["bad\uFFFDname", "new\nline", "..x", "-rf", "far", "past"]),
      );
      for (const entry of entries) expect(() => entry.modifiedAt.toISOString()).not.toThrow();
      await given.run(ref, {
        argv: [
          "node",
          "-e",
          `for (let i = 0; i < 20000; i += 1) require("node:fs").writeFileSync("/tmp/odd/f" + i, "")`,
        ],
      });
      expect((await given.provider.listFiles(ref, "/tmp/odd", given.signal)).length).toBeLessThanOrEqual(10_000);
      await given.shell(ref, "rm -rf /tmp/odd");
    },
  },
  {
    title: "the name of a snapshot is a name and no path",
    fails: async (given) => {
      const ref = await given.attacker();
      for (const name of ["../escape", "/tmp/escape", "a/../../b", "", ".", "a\0b", "x".repeat(500)]) {
        const spec = given.spec({ snapshot: name });
        await expect(given.provider.ensure(spec, given.signal)).rejects.toEqual(refusal("sandbox.rejected"));
        await expect(given.provider.snapshot(ref, name, given.signal)).rejects.toEqual(refusal("sandbox.rejected"));
      }
    },
  },
];
