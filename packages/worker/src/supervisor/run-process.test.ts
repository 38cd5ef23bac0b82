import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONTROL_FRAME } from "@drover/contract/control-frame";
import { expect, onTestFinished, test } from "vitest";
import { onFrames } from "./control-frames.ts";
import { runProcess } from "./run-process.ts";

test("a reader who is slow gets all that a command said before its end, and not what goes on behind it", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "drover-run-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const server = createServer();
  server.listen(join(cwd, "control.sock"));
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const accepted = once(server, "connection");
  const reader = connect(join(cwd, "control.sock"));
  onTestFinished(() => void reader.destroy());
  const [socket] = (await accepted) as [Socket];
  // More than a socket holds, and as a rule less than a socket and a pipe do: on a busy machine the command ends when it is read. What stays
  // behind says when the end is long past, and keeps the pipe open.
  const script = "(sleep 0.3; echo > late; while test -e late; do echo; sleep 0.02; done) & head -c 400000 /dev/zero";
  runProcess(socket, { op: "exec", argv: ["sh", "-c", script], cwd }, process.env);
  await expect.poll(() => existsSync(join(cwd, "late")), { timeout: 20_000 }).toBe(true);
  let zeros = 0;
  const exit = new Promise<string>((resolve) => {
    onFrames(reader, ({ type, bytes }) => {
      if (type === CONTROL_FRAME.stdout) zeros += bytes.filter((byte) => byte === 0).length;
      else if (type === CONTROL_FRAME.exit) resolve(bytes.toString());
    });
  });
  expect(JSON.parse(await exit)).toEqual({ code: 0, signal: null });
  expect(zeros).toBe(400_000);
  expect(existsSync(join(cwd, "late"))).toBe(true);
});
