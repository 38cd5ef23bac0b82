/** Terminals in a real local sandbox, over the real socket. */
import { TerminalServerFrame } from "@drover/contract";
import { describe, expect } from "vitest";
import WebSocket from "ws";
import { startLocal, test, untilSandbox } from "../../../testkit/src/local-sandbox.ts";
import { ADMIN_TOKEN, type TestServer } from "../../../testkit/src/server.ts";

interface Screen {
  readonly socket: WebSocket;
  readonly frames: readonly TerminalServerFrame[];
  text(): string;
  type(line: string): void;
  /** Waits until the screen shows it. */
  shows(text: string | RegExp): Promise<void>;
  readonly closed: Promise<number>;
}

interface Options {
  readonly token?: string | undefined;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly first?: readonly unknown[];
}

function openScreen(server: TestServer, id: string, options: Options = {}): Screen {
  const token = "token" in options ? options.token : ADMIN_TOKEN;
  const address = `${server.url.replace("http", "ws")}/api/v1/sandboxes/${id}/pty${options.query ?? ""}`;
  const headers = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...options.headers };
  const socket = new WebSocket(address, { headers });
  const frames: TerminalServerFrame[] = [];
  const closed = Promise.withResolvers<number>();
  let shown = "";
  const decoder = new TextDecoder();
  socket.on("open", () => options.first?.forEach((frame) => socket.send(JSON.stringify(frame))));
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) shown += decoder.decode(data, { stream: true });
    else frames.push(TerminalServerFrame.parse(JSON.parse(data.toString("utf8"))));
  });
  socket.on("close", (code) => closed.resolve(code));
  socket.on("error", () => undefined);
  return {
    socket,
    frames,
    text: () => shown,
    type: (line) => socket.send(Buffer.from(`${line}\n`)),
    shows: async (text) => {
      await expect.poll(() => shown, { timeout: 40_000, interval: 20 }).toMatch(text);
    },
    closed: closed.promise,
  };
}

const ready = async (screen: Screen) => {
  await expect.poll(() => screen.frames, { timeout: 40_000, interval: 20 }).toContainEqual({ type: "ready" });
};

const recordings = async (server: TestServer, id: string) =>
  (await server.call("GET", `/sandboxes/${id}/terminal`)).body.items;

describe("a terminal", { timeout: 120_000 }, () => {
  test("shows, takes sizes, tells its end, and is kept as a recording of its output", async ({ server }) => {
    const id = await startLocal(server);
    const screen = openScreen(server, id, { query: "?columns=91&rows=23" });
    await ready(screen);
    screen.type("echo size: $(stty size)");
    await screen.shows("size: 23 91");
    screen.socket.send(JSON.stringify({ type: "resize", columns: 117, rows: 41 }));
    screen.type("echo size: $(stty size)");
    await screen.shows("size: 41 117");
    screen.type("stty -echo; read -r secret; stty echo; echo got ${#secret} characters");
    await screen.shows("read -r secret");
    await expect
      .poll(async () => {
        const { body } = await server.call("POST", `/sandboxes/${id}/exec`, {
          body: { argv: ["sh", "-c", "for t in /dev/pts/[0-9]*; do stty -F $t -a; done | grep -c -- ' -echo '"] },
        });
        return Number(body.stdout);
      })
      .toBeGreaterThan(0);
    screen.type("swordfish");
    await screen.shows("got 9 characters");
    screen.type("printf 'gr\\303\\274n\\n'; exit 5");
    expect(await screen.closed).toBe(1000);
    expect(screen.frames.at(-1)).toEqual({ type: "exit", code: 5 });
    expect(screen.text()).toContain("grün");

    await expect.poll(() => recordings(server, id)).toHaveLength(1);
    const [recording] = await recordings(server, id);
    expect(recording).toMatchObject({ columns: 91, rows: 23, is_truncated: false, opened_by: expect.any(String) });
    const kept = await server.call("GET", `/sandboxes/${id}/artifacts/${recording.artifact_id}`);
    expect(kept.bytes).toHaveLength(recording.size);
    const [head, ...lines] = kept.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(head).toMatchObject({ version: 2, width: 91, height: 23 });
    expect(
      lines
        .filter(([, kind]) => kind === "o")
        .map(([, , text]) => text)
        .join(""),
    ).toBe(screen.text());
    expect(lines).toContainEqual([expect.any(Number), "r", "117x41"]);
    expect(kept.text).not.toContain("swordfish");
  });

  test("ends with its socket, and what runs in it too", async ({ server, local }) => {
    const screen = openScreen(server, local);
    await ready(screen);
    const nap = `86398.${process.pid}`;
    screen.type(`sleep ${nap}`);
    const count = async () =>
      Number(
        (
          await server.call("POST", `/sandboxes/${local}/exec`, {
            body: { argv: ["pgrep", "-cxf", `sleep ${nap.replace(".", "[.]")}`] },
          })
        ).body.stdout,
      );
    await expect.poll(count, { timeout: 40_000 }).toBe(1);
    screen.socket.terminate();
    await expect.poll(count, { timeout: 40_000 }).toBe(0);
  });

  test("ends with its sandbox", async ({ server }) => {
    const id = await startLocal(server);
    const screen = openScreen(server, id);
    await ready(screen);
    await server.call("DELETE", `/sandboxes/${id}`);
    expect([1000, 1013]).toContain(await screen.closed);
    await untilSandbox(server, id, { state: "terminated" });
    await expect.poll(() => recordings(server, id)).toHaveLength(1);
  });

  test("ends with its credential", async ({ server, local }) => {
    const operator = await server.createToken("operator");
    const screen = openScreen(server, local, { token: operator.token });
    await ready(screen);
    await server.call("DELETE", `/tokens/${operator.id}`);
    expect(await screen.closed).toBe(4401);
  });

  test("much output arrives whole, also when the client is slow", async ({ server, local }) => {
    const screen = openScreen(server, local);
    await ready(screen);
    screen.socket.pause();
    screen.type("stty -echo; seq -s, 600000; echo the-$((1 + 1))nd-end");
    await expect.poll(() => screen.socket.isPaused).toBe(true);
    screen.socket.resume();
    await screen.shows("the-2nd-end");
    expect(screen.text()).toContain(Array.from({ length: 600_000 }, (_, n) => n + 1).join(","));
    screen.socket.close();
    await screen.closed;
  });

  test("a text frame that is none of ours is told so and does no harm", async ({ server, local }) => {
    const screen = openScreen(server, local);
    await ready(screen);
    screen.socket.send("no json");
    screen.socket.send(JSON.stringify({ type: "resize", columns: 0, rows: 10 }));
    await expect.poll(() => screen.frames).toHaveLength(3);
    screen.type("echo still $((1 + 1))");
    await screen.shows("still 2");
    screen.socket.close();
  });
});

describe("who may open one", { timeout: 120_000 }, () => {
  test("a token in the first frame, and a ticket, once", async ({ server, local }) => {
    const first = openScreen(server, local, { token: undefined, first: [{ type: "auth", token: ADMIN_TOKEN }] });
    await ready(first);
    first.socket.close();
    const { body } = await server.call("POST", "/auth/ws-ticket");
    const second = openScreen(server, local, { token: undefined, query: `?ticket=${body.ticket}` });
    await ready(second);
    second.socket.close();
    const third = openScreen(server, local, { token: undefined, query: `?ticket=${body.ticket}` });
    expect(await third.closed).toBe(4401);
  });

  test("nobody else", async ({ server, local, sandbox }) => {
    const viewer = await server.createToken("viewer");
    const stranger = await server.createToken("operator", await server.createProject());
    const ended = await server.createSandbox();
    await server.call("DELETE", `/sandboxes/${ended.id}`);
    const cases: readonly [string, string, Options, number][] = [
      ["a garbage token", local, { token: "drv_u_garbage" }, 4401],
      ["a viewer", local, { token: viewer.token }, 4403],
      ["a stranger", local, { token: stranger.token }, 4404],
      ["a worker", sandbox.id, { token: sandbox.token }, 4403],
      ["a foreign origin", local, { headers: { origin: "https://evil.example" } }, 4403],
      ["a size that is none", local, { query: "?columns=0" }, 4422],
      ["no such sandbox", "drover-00000000-000000", {}, 4404],
      ["no id", "..x", {}, 4404],
      ["an external sandbox", sandbox.id, {}, 4422],
      ["an ended sandbox", ended.id, {}, 4409],
    ];
    for (const [what, id, options, code] of cases) {
      const screen = openScreen(server, id, options);
      expect(await screen.closed, what).toBe(code);
      expect(screen.frames, what).toEqual([{ error: expect.any(String) }]);
    }
  });
});
