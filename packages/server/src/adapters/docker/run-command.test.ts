/** What is told of a command when the engine, here one of ours that knows a single command, does not say all of it. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { collect } from "../../../../testkit/src/conformance/sandbox/given.ts";
import { connectEngine } from "./connection.ts";
import { runCommand } from "./run-command.ts";

const UPGRADED = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

function toFrame(text: string): Buffer {
  const head = Buffer.of(1, 0, 0, 0, 0, 0, 0, 0);
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** Runs a command that says so much on stdout before its stream is cut, and ends with the status. */
async function run(said: string, ExitCode: number) {
  const folder = await mkdtemp(join(tmpdir(), "drover-engine-"));
  const answers: Readonly<Record<string, object>> = {
    "/containers/one/exec": { Id: "command" },
    "/exec/command/json": { Running: false, ExitCode },
  };
  const engine = createServer((request, answer) => {
    const found = answers[request.url?.split("?")[0] ?? ""];
    const status = request.method === "POST" ? 201 : 200;
    answer.writeHead(found === undefined ? 404 : status, { "content-type": "application/json" });
    answer.end(JSON.stringify(found ?? { message: "not here" }));
  });
  engine.on("upgrade", (_request, socket) => socket.end(Buffer.concat([Buffer.from(UPGRADED), toFrame(said)])));
  onTestFinished(async () => {
    engine.close();
    engine.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  });
  const path = join(folder, "engine.sock");
  await new Promise<void>((resolve) => engine.listen(path, resolve));
  const connection = await connectEngine(path);
  const { signal } = new AbortController();
  return collect(runCommand(connection, connection.docker.getContainer("one"), { argv: ["seq", "9"] }, signal));
}

test("an end that the engine threw away is told, and not taken for all that was said", async () => {
  await expect(run("7\n1\n2\n", 0)).rejects.toMatchObject({
    code: "sandbox.unavailable",
    message: expect.stringContaining("threw away"),
  });
});

test("a command that was killed with its script gives what came, and says so", async () => {
  const { stdout, exit } = await run("7\n1\n2\n", 137);
  expect([stdout.toString(), exit]).toEqual(["1\n2\n", expect.objectContaining({ code: null, signal: "SIGKILL" })]);
});
