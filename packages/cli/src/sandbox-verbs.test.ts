/** The verbs that work in sandboxes, against the real server and real local sandboxes. */
import { describe, expect } from "vitest";
import { createClient } from "@drover/client";
import { COLUMNS, runBinary } from "../../testkit/src/drover-binary.ts";
import { startLocal, test, untilSandbox } from "../../testkit/src/local-sandbox.ts";
import { ADMIN_TOKEN, type TestServer } from "../../testkit/src/server.ts";
import { toTrial, type Trial } from "../test/terminal-double.ts";
import { followSandbox } from "./follow-sandbox.ts";
import { runCommand } from "./run-command.ts";
import type { Console, Context } from "./verb.ts";

/** A terminal of a person who types what the test says. */
class Person implements Console {
  shown = "";
  isRaw = false;
  columns = 90;
  private keys: (bytes: Uint8Array) => void = () => undefined;
  private resized: () => void = () => undefined;
  size = () => ({ columns: this.columns, rows: 20 });
  onResize = (listener: () => void) => void (this.resized = listener);
  write = (bytes: Uint8Array) => void (this.shown += Buffer.from(bytes).toString("utf8"));
  takeOver = (onKeys: (bytes: Uint8Array) => void) => {
    this.keys = onKeys;
    this.isRaw = true;
    return () => void (this.isRaw = false);
  };
  type(text: string): void {
    this.keys(Buffer.from(text));
  }
  resize(columns: number): void {
    this.columns = columns;
    this.resized();
  }
  async sees(text: string): Promise<void> {
    await expect.poll(() => this.shown, { timeout: 20_000, interval: 20 }).toContain(text);
  }
}

const toContext = (server: TestServer, change: Partial<Context> = {}): Trial =>
  toTrial({
    env: { DROVER_URL: server.url, DROVER_TOKEN: ADMIN_TOKEN },
    createClient,
    ...change,
  });

describe("in a sandbox", { timeout: 60_000 }, () => {
  test("exec shows output and passes the exit code on", async ({ server, local }) => {
    const { context, out, err } = toContext(server);
    const argv = ["exec", local, "-e", "A=b=c", "--cwd", "/tmp", "--", "sh", "-c", 'pwd; echo "$A" >&2; exit 7'];
    expect(await runCommand(context, argv)).toBe(7);
    expect([out, err]).toEqual([["/tmp\n"], ["b=c\n"]]);
  });

  test("exec says what ended a command that did not end by itself", async ({ server, local }) => {
    const late = toContext(server);
    expect(await runCommand(late.context, ["exec", local, "--timeout", "0.2", "--", "sleep", "60"])).toBe(124);
    expect(late.err.join("\n")).toContain("killed after 0.2 s");
    const killed = toContext(server);
    expect(await runCommand(killed.context, ["exec", local, "--", "sh", "-c", "kill -TERM $$"])).toBe(143);
  });

  test("logs prints what the worker wrote, and follows until the sandbox ends", async ({ server }) => {
    const id = await startLocal(server);
    const write = (text: string) =>
      server.call("POST", `/sandboxes/${id}/exec`, {
        body: { argv: ["sh", "-c", `echo '${text}' >> /home/agent/.drover-worker/worker.log`] },
      });
    await write("first \u001b[31mred");
    let looks = 0;
    const { context, out } = toContext(server, {
      wait: async () => {
        looks += 1;
        if (looks === 1) await write("second");
        if (looks === 2) await server.call("DELETE", `/sandboxes/${id}`);
        if (looks === 3) await untilSandbox(server, id, { last_event_type: "TERMINATED" });
      },
    });
    expect(await runCommand(context, ["logs", id, "-f"])).toBe(0);
    const text = out.join("");
    expect(text).toMatch(/first red\n(.*\n)*second\n/);
    expect(text.match(/second/g)).toHaveLength(1);
    expect(text).not.toContain("\u001b");
  });

  test("pause and resume tell the state", async ({ server, local }) => {
    const { context, out } = toContext(server);
    expect(await runCommand(context, ["pause", local])).toBe(0);
    expect(await runCommand(context, ["resume", local])).toBe(0);
    expect(out).toEqual([`${local} paused`, `${local} running`]);
    expect(await runCommand(context, ["resume", local])).toBe(4);
  });

  test("preview prints a link, and says when nothing listens there", async ({ server, local }) => {
    const { context, out, err } = toContext(server);
    expect(await runCommand(context, ["preview", local, "3999"])).toBe(0);
    expect(out.join("\n")).toMatch(
      new RegExp(`^http://p3999-${local}\\.preview\\.localhost:\\d+/\\S+\\?ticket=[\\w-]+$`),
    );
    expect(err.join("\n")).toContain("Nothing listens on port 3999");
    expect(await runCommand(context, ["preview", local, "http"])).toBe(2);
  });

  test("attach is a terminal, with its sizes and its exit code, and gives the terminal back", async ({
    server,
    local,
  }) => {
    const person = new Person();
    const { context } = toContext(server, { console: person });
    const code = runCommand(context, ["attach", local]);
    await expect.poll(() => person.isRaw, { timeout: 20_000 }).toBe(true);
    person.type("stty size\n");
    await person.sees("20 90");
    person.resize(111);
    person.type("stty size\n");
    await person.sees("20 111");
    person.type("exit 9\n");
    expect(await code).toBe(9);
    expect(person.isRaw).toBe(false);
  });

  test("attach is left with Ctrl-], and is refused without a terminal or a right", async ({ server, local }) => {
    const person = new Person();
    const { context } = toContext(server, { console: person });
    const code = runCommand(context, ["attach", local]);
    await expect.poll(() => person.isRaw, { timeout: 20_000 }).toBe(true);
    person.type("echo left-$((1+1))\n");
    await person.sees("left-2");
    person.type("\u001d");
    expect(await code).toBe(0);
    expect(await runCommand(toContext(server).context, ["attach", local])).toBe(2);
    const viewer = await server.createToken("viewer");
    const refused = toContext(server, {
      env: { DROVER_URL: server.url, DROVER_TOKEN: viewer.token },
      console: new Person(),
    });
    expect(await runCommand(refused.context, ["attach", local])).toBe(4);
  });

  test("show tells limits and what enforces them", async ({ server, local }) => {
    const { context, out } = toContext(server, { width: 200 });
    expect(await runCommand(context, ["show", local])).toBe(0);
    expect(out.find((line) => line.startsWith("limits"))).toMatch(
      /4 GiB memory \(default, \w+\), 2 cores \(default, \w+\), 8 GiB disk \(default, /,
    );
  });
});

/** Those that neither the documentation nor another test runs as a process. */
test("the binary does the same: what a person reads fits, and its exit code says how it went", async ({
  server,
  local,
}) => {
  const [logs, link, answered, attached, dry, config] = await Promise.all([
    runBinary(server, "logs", local),
    runBinary(server, "preview", local, "3999"),
    runBinary(server, "answer", local, "nothing", "allow"),
    runBinary(server, "attach", local),
    runBinary(server, "prune", "--dry-run", "--json"),
    runBinary(server, "config"),
  ]);
  expect([logs.code, config.code]).toEqual([0, 0]);
  expect(link.out).toMatch(/^http:\/\/p3999-\S+\n$/);
  expect(answered).toMatchObject({ code: 4, out: "" });
  expect(attached).toMatchObject({ code: 2, err: expect.stringContaining("drover exec") as string });
  expect(JSON.parse(dry.out)).toMatchObject({ items: expect.any(Array) as unknown[] });
  for (const line of config.out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  expect(await runBinary(server, "pause", local)).toEqual({ code: 0, out: `${local} paused\n`, err: "" });
  expect(await runBinary(server, "resume", local)).toEqual({ code: 0, out: `${local} running\n`, err: "" });
});

describe("run", { timeout: 60_000 }, () => {
  test("makes a sandbox as asked for and prints its id", async ({ server }) => {
    const { context, out } = toContext(server);
    const flags = ["--provider", "local", "--runtime", "scripted", "--memory", "1", "--cpu", "0.5", "--disk", "2g"];
    expect(await runCommand(context, ["run", ...flags, "--label", "a=b", "say", "hello"])).toBe(0);
    const { body } = await server.call("GET", `/sandboxes/${out[0]}`);
    expect(body).toMatchObject({
      prompt: "say hello",
      provider: "local",
      runtime: "scripted",
      labels: { a: "b" },
      resources: { memory_gb: { value: 1 }, cpu: { value: 0.5 }, disk_gb: { value: 2 } },
    });
  });

  test("is refused before anything is made when a flag makes no sense", async ({ server }) => {
    for (const flags of [
      ["--memory", "much"],
      ["--memory", "99"],
      ["--provider", "cloud"],
      ["--env", "novalue"],
    ]) {
      const { context, err } = toContext(server);
      expect(await runCommand(context, ["run", "x", ...flags]), flags.join(" ")).toBe(2);
      expect(err.join()).toContain("See: drover help run");
    }
  });

  const create = async (server: TestServer, steps: readonly object[]) => {
    const { body } = await server.call("POST", "/sandboxes", {
      body: { provider: "local", runtime: "scripted", script: { steps } },
    });
    return body;
  };

  test.for([
    ["completed", [{ text: "hello from inside" }], 0],
    ["failed", [{ fail: "it broke" }], 1],
  ] as const)(
    "following work that ends as %s shows how it was made and what it did",
    async ([state, steps, code], { server }) => {
      const { context, out } = toContext(server, { width: 200 });
      const client = createClient({ baseUrl: server.url, token: ADMIN_TOKEN });
      expect(await followSandbox(context, client, await create(server, steps), false)).toBe(code);
      const text = out.join("\n");
      expect(text).toMatch(/sandbox\.provisioning[\s\S]*agent\.started/);
      expect(out.at(-1)).toContain(state);
    },
  );

  test("Ctrl-C leaves the sandbox at work", async ({ server, local }) => {
    const stop = new AbortController();
    const { context, err } = toContext(server, { signal: stop.signal, print: () => stop.abort() });
    const client = createClient({ baseUrl: server.url, token: ADMIN_TOKEN });
    expect(await followSandbox(context, client, { id: local }, false)).toBe(130);
    expect(err.join()).toContain(`drover rm ${local}`);
    await untilSandbox(server, local, { state: "running" });
  });
});

describe("prune", { timeout: 60_000 }, () => {
  test("shows, asks, removes", async ({ server }) => {
    const id = await startLocal(server);
    const dry = toContext(server);
    expect(await runCommand(dry.context, ["prune", "--all", "--dry-run"])).toBe(0);
    expect(dry.out.find((line) => line.includes(id))).toMatch(/^local +\S+ +AT WORK$/);
    const no = toContext(server, { ask: async () => "n" });
    expect(await runCommand(no.context, ["prune", "--all"])).toBe(1);
    await untilSandbox(server, id, { state: "running" });
    const yes = toContext(server);
    expect(await runCommand(yes.context, ["prune", "--all", "--yes"])).toBe(0);
    expect(yes.out.at(-1)).toMatch(/^\d+ removed\.$/);
    await untilSandbox(server, id, { state: "terminated" });
    const nothing = toContext(server);
    expect(await runCommand(nothing.context, ["prune"])).toBe(0);
    expect(nothing.out).toEqual(["There is nothing to remove."]);
  });
});
