import { expect } from "vitest";
import { startLocal, test as base } from "../local-sandbox.ts";
import { startTestServer, type TestServer } from "../server.ts";
import { bringAcpAgent } from "./bring-program.ts";
import { huntKeys, plantSecrets, type Secrets } from "./key-hunt.ts";

const { secrets, config } = plantSecrets();

const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({ config });
      await use(server);
    },
    { scope: "file" },
  ],
});

test("a sandbox of the scripted agent holds no secret of its server", async ({ server, local }) => {
  const hunt = await huntKeys(server, local, secrets);
  expect(hunt.found).toEqual([]);
  expect(hunt.processes).toBeGreaterThanOrEqual(3);
  expect(hunt.files).toBeGreaterThan(10);
});

test("a sandbox of an agent that somebody brings holds no secret of its server", async ({ server }) => {
  await using brought = await bringAcpAgent();
  const hold = JSON.stringify([{ say: "Here I am." }, { hold: "never" }]);
  const id = await startLocal(server, { runtime: "acp", prompt: hold, ...brought.input });
  const said = async () => (await server.call("GET", `/sandboxes/${id}/events?event_type=agent.message`)).body.events;
  await expect.poll(said, { timeout: 60_000 }).toMatchObject([{ event_data: { content: "Here I am." } }]);
  const hunt = await huntKeys(server, id, secrets);
  expect(hunt.found).toEqual([]);
  // The agent is among them.
  expect(hunt.processes).toBeGreaterThanOrEqual(4);
});

test("the hunt finds a secret wherever it lies, and in whatever form", async ({ server }) => {
  const secret = secrets["openai"] ?? "";
  const base64 = (before: string) => Buffer.from(`${before}${secret} and more`).toString("base64");
  const plant = [
    `printf %s 'key=${secret}' > plain.txt`,
    `printf %s '${Buffer.from(secret).toString("hex")}' > hex.txt`,
    ...["", "a", "ab"].map((before, index) => `printf %s '${base64(before)}' > base64-${index}.txt`),
    "git init -q repo",
    `git -C repo config http.extraheader 'Authorization: Basic ${base64("user:")}'`,
    `LEAK='${secret}' sleep 300 >/dev/null 2>&1 &`,
    `sh -c 'sleep 300; : ${secret}' >/dev/null 2>&1 &`,
  ].join("\n");
  const script = { steps: [{ command: { argv: ["sh", "-c", plant] } }, { wait_for_message: { seconds: 600 } }] };
  const id = await startLocal(server, { script });
  await expect
    .poll(async () => (await huntKeys(server, id, { openai: secret } satisfies Secrets)).found, { timeout: 60_000 })
    .toEqual(
      expect.arrayContaining([
        expect.stringContaining("plain.txt"),
        expect.stringContaining("hex.txt"),
        expect.stringContaining("base64-0.txt"),
        expect.stringContaining("base64-1.txt"),
        expect.stringContaining("base64-2.txt"),
        expect.stringMatching(/git config .*repo\/.git/),
        expect.stringMatching(/\/proc\/\d+\/environ/),
        expect.stringMatching(/\/proc\/\d+\/cmdline/),
      ]),
    );
});
