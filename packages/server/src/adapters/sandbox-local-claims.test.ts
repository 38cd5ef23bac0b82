/** Whatever is said on a control socket, by whoever took it, is a claim: the server takes no harm. */
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONTROL_FRAME, CONTROL_FRAME_LIMIT_BYTES } from "@drover/contract";
import { expect, onTestFinished, test } from "vitest";
import { LIMITS, collect, refusal, unique } from "../../../testkit/src/conformance/sandbox/given.ts";
import { openLocal } from "../../../testkit/src/hostile/open-local.ts";
import { execInside, listInside, readInside, statusInside } from "./local/inside.ts";
import { toPlace, type Note } from "./local/places.ts";

const signal = new AbortController().signal;
const NOTE: Note = {
  key: "x",
  labels: {},
  limits: LIMITS,
  env: {},
  uid: null,
  stopReason: null,
  isPaused: false,
  hasImage: false,
  group: null,
  watchdogKills: 0,
};

const frame = (type: number, bytes: Uint8Array | string) => {
  const body = Buffer.from(bytes);
  const head = Buffer.alloc(5);
  head[0] = type;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};

/** A supervisor that answers every connection with `answer`. */
async function impersonate(answer: (socket: Socket) => void) {
  const folder = await mkdtemp(join(tmpdir(), "drover-claims-"));
  const place = toPlace(folder, "x");
  await mkdir(place.root);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    answer(socket);
  });
  server.listen(place.control);
  await once(server, "listening");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  return place;
}

const huge = Buffer.alloc(5);
huge[0] = CONTROL_FRAME.stdout;
huge.writeUInt32BE(10 * 1024 * 1024, 1);

test.for([
  ["a frame of 10 MiB", huge],
  ["a frame of 4 GiB", Buffer.from([2, 255, 255, 255, 255])],
  ["an exit that is no JSON", frame(CONTROL_FRAME.exit, "{nonsense")],
  ["an exit of another shape", frame(CONTROL_FRAME.exit, '{"code":"0"}')],
  ["a refusal that is no JSON", frame(CONTROL_FRAME.refused, "\u0000")],
  ["half a frame", Buffer.from([2, 0, 0])],
  ["noise", Buffer.alloc(100_000, 0xa5)],
] as const)("%s instead of an answer is sandbox.unavailable", async ([, bytes]) => {
  const place = await impersonate((socket) => socket.end(bytes));
  const unavailable = refusal("sandbox.unavailable");
  await expect(collect(execInside(place, NOTE, { argv: ["true"] }, signal))).rejects.toEqual(unavailable);
  await expect(statusInside(place, signal)).rejects.toEqual(unavailable);
  await expect(readInside(place, "/x", 100, signal)).rejects.toEqual(unavailable);
});

test("an answer longer than asked for is not taken", async () => {
  const place = await impersonate((socket) => {
    const chunk = frame(CONTROL_FRAME.stdout, Buffer.alloc(CONTROL_FRAME_LIMIT_BYTES));
    const pour = () => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on("drain", pour);
    pour();
  });
  await expect(readInside(place, "/x", 100, signal)).rejects.toEqual(refusal("sandbox.rejected"));
  await expect(statusInside(place, signal)).rejects.toEqual(refusal("sandbox.rejected"));
  await expect(listInside(place, "/", signal)).rejects.toEqual(refusal("sandbox.rejected"));
});

test("a listing of nonsense is nobody's failure, and a time that is no date becomes the last one", async () => {
  const line = JSON.stringify({ name: "a", kind: "file", size: 1, modified_ms: 1e300 });
  const done = frame(CONTROL_FRAME.exit, '{"code":0,"signal":null}');
  const good = await impersonate((socket) =>
    socket.end(Buffer.concat([frame(CONTROL_FRAME.stdout, `${line}\n`), done])),
  );
  const [entry] = await listInside(good, "/", signal);
  expect(entry?.modifiedAt.toISOString()).toMatch(/^\+275760/);
  const bad = await impersonate((socket) =>
    socket.end(Buffer.concat([frame(CONTROL_FRAME.stdout, '{"name":1}\n'), done])),
  );
  await expect(listInside(bad, "/", signal)).rejects.toEqual(refusal("sandbox.unavailable"));
});

test("garbage on the control socket ends its connection, and the supervisor goes on", async () => {
  const { provider, folder, close } = await openLocal();
  const key = unique("garbage");
  const ref = await provider.ensure({ key, labels: {}, limits: LIMITS, env: {} }, signal);
  onTestFinished(async () => {
    await provider.destroy(ref, signal);
    await close();
  });
  const { control } = toPlace(join(folder, "sandboxes"), key);
  const texts = [
    huge,
    Buffer.concat([huge, Buffer.alloc(2_000_000)]),
    frame(CONTROL_FRAME.request, "{nonsense"),
    frame(CONTROL_FRAME.request, "null"),
    frame(CONTROL_FRAME.request, '{"op":"exec","argv":[]}'),
    frame(CONTROL_FRAME.request, '{"op":"exec","argv":["a\\u0000b"]}'),
    frame(CONTROL_FRAME.request, '{"op":"exec","argv":["true"],"env":{"A=B":"\\u0000"}}'),
    frame(CONTROL_FRAME.request, '{"op":"read","path":"\\u0000","limit":1}'),
    frame(CONTROL_FRAME.request, '{"op":"write","path":"/proc/self/mem"}'),
    frame(CONTROL_FRAME.stdin, "before any request"),
    Buffer.concat([
      frame(CONTROL_FRAME.request, '{"op":"exec","argv":["cat"],"terminal":{"columns":80,"rows":24}}'),
      frame(CONTROL_FRAME.resize, "{"),
      frame(CONTROL_FRAME.resize, '{"columns":-1}'),
      frame(99, "x"),
    ]),
    Buffer.from([1, 0, 0]),
    Buffer.alloc(300_000, 0x01),
  ];
  for (const bytes of texts) {
    const socket = connect(control).on("error", () => undefined);
    socket.end(bytes);
    await Promise.race([
      once(socket.resume(), "close").catch(() => undefined),
      collect(provider.exec(ref, { argv: ["true"] }, signal)),
    ]);
    const { stdout } = await collect(provider.exec(ref, { argv: ["echo", "alive"] }, signal));
    expect(stdout.toString()).toBe("alive\n");
    socket.destroy();
  }
});

test("what is uploaded lies where its path says: a link on the way, or at its end, is refused", async () => {
  const { provider, close } = await openLocal();
  const ref = await provider.ensure({ key: unique("linked"), labels: {}, limits: LIMITS, env: {} }, signal);
  onTestFinished(async () => {
    await provider.destroy(ref, signal);
    await close();
  });
  const shell = async (script: string) =>
    (await collect(provider.exec(ref, { argv: ["sh", "-c", script] }, signal))).stdout.toString();
  await shell("mkdir real; ln -s real way; echo kept > real/file; ln -s real/file end");
  for (const path of ["way/file", "way/new", "end"])
    await expect(provider.upload(ref, path, Buffer.from("x"), {}, signal)).rejects.toEqual(refusal("sandbox.rejected"));
  expect(await shell("ls real; cat real/file")).toBe("file\nkept\n");
});
