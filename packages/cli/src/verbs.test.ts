import { describe, expect, test } from "vitest";
import { SANDBOX, toProblem, toTrial } from "../test/terminal-double.ts";
import { runCommand } from "./run-command.ts";
import { VERBS } from "./verbs.ts";

const { id } = SANDBOX;
const TOKEN = {
  id: "tok-000000000001",
  name: "ci",
  role: "viewer",
  project_id: null,
  created_at: "2026-01-01T00:00:00Z",
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
};
const event = (n: number) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
  seq: n * 10,
  sandbox_seq: n,
  sandbox_id: id,
  task_id: null,
  event_type: "agent.message",
  event_data: { content: `message ${n}` },
  source: "agent",
  created_at: "2026-01-01T00:00:07Z",
  client_event_id: null,
  generation: 1,
  caused_by: null,
});
const page = (events: readonly unknown[], has_more = false) =>
  Response.json({ events, total_count: events.length, sandbox_id: id, last_seq: 0, has_more });

describe("help", () => {
  test.for(VERBS.map((verb) => verb.name))("%s explains itself within 80 columns", async (name) => {
    const { context, out } = toTrial();
    expect(await runCommand(context, ["help", name])).toBe(0);
    expect(out[0]).toMatch(new RegExp(`^drover ${name}`));
    expect(Math.max(...out.map((line) => line.length))).toBeLessThanOrEqual(80);
    const again = toTrial();
    expect(await runCommand(again.context, [name, "--help"])).toBe(0);
    expect(again.out).toEqual(out);
  });

  test("without a command the commands and the exit codes are listed", async () => {
    const { context, out } = toTrial();
    expect(await runCommand(context, [])).toBe(0);
    for (const verb of VERBS) expect(out.join("\n")).toContain(`  ${verb.name} `);
    const json = toTrial();
    expect(await runCommand(json.context, ["help", "--json"])).toBe(0);
    expect(JSON.parse(json.out.join(""))).toContainEqual({
      name: "budgets",
      summary: expect.any(String) as string,
      usage: expect.any(String) as string,
      actions: expect.arrayContaining(["create"]) as string[],
      flags: expect.arrayContaining([expect.objectContaining({ name: "limit" })]) as unknown[],
    });
    expect(out.join("\n")).toMatch(/^ +3 +no server could be reached$/m);
  });
});

describe("what is not understood", () => {
  test.for([
    [["frob"], 'drover: there is no command "frob".\nSee: drover help'],
    [["ls", "--frob"], "drover: Unknown option '--frob'.\nSee: drover help ls"],
    [["show"], "drover: usage: drover show <id>.\nSee: drover help show"],
    [["events", id, "--after-seq", "-1x"], /^drover: Option '--after-seq/],
    [["events", id, "--limit", "many"], 'drover: --limit takes a whole number, not "many".\nSee: drover help events'],
    [["send", id], /usage: drover send/],
    [["send", id, "x", "--queue", "--interrupt"], /exclude each other/],
    [["ls", "--status", "asleep"], /there is only pending, creating/],
    [["token", "toString"], /usage: drover token create/],
    [["token", "create", "x", "--role", "god"], /--role is one of viewer, operator, admin/],
    [["run"], /usage: drover run/],
    [["run", "--direct", "--mode", "cloud", "x"], /there is no workspace "cloud"/],
    [["run", "--direct", "--follow", "x"], /--follow needs a server/],
    [["run", "--script", "steps.yaml", "x"], /--script needs --direct/],
    [["run", "--direct", "--mode", "remote", "x"], /--mode remote needs --agent-server/],
    [["run", "x", "--memory", "lots"], /--memory takes a number, not "lots"/],
    [["run", "x", "--provider", "cloud"], /provider/],
    [["exec", id], /usage: drover exec/],
    [["exec", id, "--env", "x", "--", "true"], /--env takes name=value, not "x"/],
    [["archive", "verify", "gone.tar"], /gone\.tar cannot be read[\s\S]*drover help archive/],
    [["preview", id, "http"], "drover: http is no port.\nSee: drover help preview"],
    [["attach", id], /there is no terminal here/],
    [["rm", id], "drover: nobody can answer here; add --yes.\nSee: drover help rm"],
  ] as const)("%j", async ([argv, complaint]) => {
    const { context, err, requests } = toTrial();
    expect(await runCommand(context, argv)).toBe(2);
    expect(err.join("\n")).toMatch(complaint);
    expect(requests).toEqual([]);
  });
});

describe("a server that does not help", () => {
  test("is not reachable: 3, and what to run", async () => {
    const { context, err } = toTrial({}, () => {
      throw new TypeError("fetch failed");
    });
    expect(await runCommand(context, ["ls"])).toBe(3);
    expect(err).toEqual(["drover: no server answers at http://drover.test.\nStart the server with: drover up"]);
  });

  test("is not known: 3, and what to run", async () => {
    const { context, err } = toTrial({ env: {} });
    expect(await runCommand(context, ["ls"])).toBe(3);
    expect(err.join()).toContain("Start one with: drover up");
  });

  test("refuses: 4, and why", async () => {
    const { context, err } = toTrial({}, () => toProblem(401, "auth.required", "the token was revoked"));
    expect(await runCommand(context, ["ls"])).toBe(4);
    expect(err).toEqual([
      "drover: the token was revoked.\nGive a valid token: --token-file <path>, or DROVER_TOKEN in the environment.",
    ]);
  });

  test("is given up by whoever asked: 130, so that no script takes it for done", async () => {
    const stop = new AbortController();
    const { context, out, err } = toTrial({ signal: stop.signal }, () => {
      stop.abort();
      throw new DOMException("stopped", "AbortError");
    });
    expect(await runCommand(context, ["ls"])).toBe(130);
    expect([out, err]).toEqual([[], []]);
  });

  test("fails: 1", async () => {
    const { context } = toTrial({}, () => toProblem(500, "server.failed", "a bug"));
    expect(await runCommand(context, ["ls"])).toBe(1);
  });
});

describe("ls and show", () => {
  test("fit 80 columns and pass on no escape sequence", async () => {
    const { context, out, requests } = toTrial({}, ({ url }) =>
      Response.json(url.pathname.endsWith("sandboxes") ? { items: [SANDBOX], next_cursor: null } : SANDBOX),
    );
    expect(await runCommand(context, ["ls"])).toBe(0);
    expect(await runCommand(context, ["show", id])).toBe(0);
    expect(out.slice(0, 2)).toEqual([
      "ID                      STATE    PROVIDER  HEALTH  TURN  EVENTS  AGE  WORK",
      "drover-00000001-00000a  running  local     alive   3     120     1h   Make the …",
    ]);
    expect(out).toContain("branch      drover/parser");
    expect(out).toContain("            faster and explain why each change matters in the pull request");
    expect(out.join("\n")).not.toContain("\u001B");
    expect(Math.max(...out.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(requests[0]?.headers.get("authorization")).toBe("Bearer drv_u_test");
    expect(requests[0]?.url.searchParams.getAll("status")).toContain("running");
  });

  test("follow the pages up to the limit", async () => {
    const { context, out, requests } = toTrial({}, () =>
      Response.json({ items: [SANDBOX, SANDBOX], next_cursor: "more" }),
    );
    expect(await runCommand(context, ["ls", "--all", "--limit", "3", "--json"])).toBe(0);
    expect(JSON.parse(out.join(""))).toHaveLength(3);
    expect(requests.map(({ url }) => url.searchParams.get("cursor"))).toEqual([null, "more"]);
    expect(requests[0]?.url.searchParams.has("status")).toBe(false);
  });
});

describe("events", () => {
  test("prints the newest, oldest first", async () => {
    const { context, out, requests } = toTrial({}, () => page([event(2), event(1)]));
    expect(await runCommand(context, ["events", id])).toBe(0);
    expect(out).toEqual([
      "    1  00:00:07  agent.message             message 1",
      "    2  00:00:07  agent.message             message 2",
    ]);
    expect(requests[0]?.url.searchParams.get("order")).toBe("desc");
  });

  test("reads on from a seq until the end", async () => {
    const full = Array.from({ length: 500 }, (_, index) => event(index + 1));
    const { context, out, requests } = toTrial({}, ({ url }) =>
      url.searchParams.get("after_seq") === "0" ? page(full, true) : page([event(501)]),
    );
    expect(await runCommand(context, ["events", id, "--after-seq", "0", "--json", "--type", "agent.message"])).toBe(0);
    expect(out.map((line) => (JSON.parse(line) as { sandbox_seq: number }).sandbox_seq)).toEqual(
      Array.from({ length: 501 }, (_, index) => index + 1),
    );
    expect(requests.map(({ url }) => url.searchParams.get("after_seq"))).toEqual(["0", "5000"]);
    expect(requests[0]?.url.searchParams.getAll("event_type")).toEqual(["agent.message"]);
  });
});

describe("more than one page", () => {
  test("the newest are read back to where they begin, however many are asked for", async () => {
    const all = Array.from({ length: 700 }, (_, index) => event(700 - index));
    const { context, out, requests } = toTrial({}, ({ url }) =>
      url.searchParams.has("before_seq") ? page(all.slice(500)) : page(all.slice(0, 500), true),
    );
    expect(await runCommand(context, ["events", id, "-n", "700", "--json"])).toBe(0);
    expect(out.map((line) => (JSON.parse(line) as { sandbox_seq: number }).sandbox_seq)).toEqual(
      all.map(({ sandbox_seq }) => sandbox_seq).toReversed(),
    );
    expect(requests.map(({ url }) => [url.searchParams.get("before_seq"), url.searchParams.get("limit")])).toEqual([
      [null, "500"],
      ["2010", "200"],
    ]);
  });

  test("a page that is short because its events are large is not taken for the last", async () => {
    const { context, out } = toTrial({}, ({ url }) =>
      url.searchParams.get("after_seq") === "0" ? page([event(1), event(2)], true) : page([event(3)]),
    );
    expect(await runCommand(context, ["query", id, "--after-seq", "0", "--count", "--json"])).toBe(0);
    expect(JSON.parse(out.join(""))).toEqual({ "agent.message": 3 });
  });
});

describe("files", () => {
  const said = new Uint8Array([0xff, 0xfe, 0, 0x1b, ...Buffer.from("[31mred")]);

  test.for([
    ["through a pipe every byte is there", false, Buffer.from(said)],
    ["on a terminal nothing steers it", true, Buffer.from("\uFFFD\uFFFDred")],
  ] as const)("%s", async ([, isOnTerminal, shown]) => {
    const chunks: (string | Uint8Array)[] = [];
    const write = (_: string, content: string | Uint8Array) => void chunks.push(content);
    const { context } = toTrial({ isOnTerminal, write }, () => new Response(said));
    expect(await runCommand(context, ["files", id, "a.bin", "--cat"])).toBe(0);
    expect(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)))).toEqual(shown);
  });
});

describe("send", () => {
  const queued = () =>
    Response.json({ status: "queued", message_id: "msg-000000000001", sandbox_id: id, queue_size: 1 });

  test.for([
    [
      ["use", "the", "new", "parser"],
      { content: "use the new parser", message_type: "user_message", delivery: "steer" },
    ],
    [["later", "--queue"], { content: "later", message_type: "user_message", delivery: "queue" }],
    [["--interrupt"], { content: expect.stringContaining("Stop"), message_type: "interrupt", delivery: "steer" }],
    [["-"], { content: "from standard input", message_type: "user_message", delivery: "steer" }],
  ] as const)("%j", async ([words, body]) => {
    const { context, out, requests } = toTrial({}, queued);
    expect(await runCommand(context, ["send", id, ...words])).toBe(0);
    expect(requests[0]?.body).toEqual(body);
    expect(requests[0]?.headers.get("idempotency-key")).toMatch(/^[0-9a-f]{32}$/);
    expect(out).toEqual(["msg-000000000001 queued"]);
  });
});

describe("permissions and answer", () => {
  const asked = {
    sandbox_id: id,
    request_id: "ask-1",
    kind: "tool",
    turn: 1,
    tool_use_id: null,
    tool: "Bash",
    input: { command: "rm -rf build" },
    options: [],
    state: "open",
    decision: null,
    option_id: null,
    text: null,
    note: null,
    by: null,
    requested_at: "2026-01-01T00:00:00Z",
    deadline_at: null,
    answered_at: null,
  };

  test("what is open is listed, and answered", async () => {
    const { context, out, requests } = toTrial({}, ({ method }) =>
      Response.json(method === "GET" ? { items: [asked], next_cursor: null } : { ...asked, decision: "deny" }),
    );
    expect(await runCommand(context, ["permissions", id])).toBe(0);
    expect(await runCommand(context, ["answer", id, "ask-1", "deny", "--note", "no"])).toBe(0);
    expect(out).toEqual([
      "REQUEST  STATE  TOOL  INPUT",
      'ask-1    open   Bash  {"command":"rm -rf build"}',
      "ask-1 deny",
    ]);
    expect(requests[0]?.url.searchParams.get("state")).toBe("open");
    expect(requests[1]?.body).toEqual({ decision: "deny", note: "no" });
    expect(await runCommand(context, ["answer", id, "ask-1", "maybe"])).toBe(2);
  });
});

describe("guardian and monitor", () => {
  const intervention = {
    id: "int-000000000001",
    sandbox_id: id,
    project_id: SANDBOX.project_id,
    signal: "repeated_tool",
    level: "warning",
    rung: "nudge",
    mode: "nudge",
    reason: "the same call 5 times with the same result",
    seqs: [3, 5],
    message_id: null,
    injected_seq: null,
    outcome: "helped",
    created_at: "2026-01-01T00:00:00Z",
    settled_at: null,
  };
  const seen = {
    sandbox_id: id,
    condition: "alive",
    condition_since: "2026-01-01T00:00:00Z",
    signals: [{ signal: "error_streak", level: "warning", seqs: [7, 9], detail: "5 errors in a row" }],
    cursor_seq: 9,
  };

  test("a run's condition, its signs with their events, and what was done", async () => {
    const { context, out } = toTrial({}, ({ url }) =>
      Response.json(url.pathname.endsWith("/supervision") ? seen : { items: [intervention], next_cursor: null }),
    );
    expect(await runCommand(context, ["guardian", id])).toBe(0);
    expect(out[0]).toBe(`${id} is alive since 2026-01-01T00:00:00Z.`);
    expect(out.join("\n")).toMatch(/error_streak +warning +7 9 +5 errors in a row/);
    expect(out.join("\n")).toMatch(/nudge +helped/);
  });

  test("figures without a verdict are told as not judged, never as a number", async () => {
    const { context, out } = toTrial({}, ({ url }) => {
      if (url.pathname.endsWith("/dashboard"))
        return Response.json({
          total_tasks_pending: 2,
          total_tasks_completed: 1,
          active_agents: 3,
          stale_agents: 0,
          waiting_for_answer: 1,
          interventions_last_hour: 0,
          events_last_minute: 12,
          active_locks: 0,
          recent_anomalies: 0,
          critical_alerts: 0,
        });
      if (url.pathname.endsWith("/conductor")) return Response.json({ items: [], next_cursor: null });
      return Response.json({
        active_agents: 3,
        average_alignment: null,
        agents_need_steering: 0,
        system_health: "unknown",
        conditions: { alive: 3 },
        signals: {},
        phase_distribution: {},
        steering_types: {},
        recent_duplicates: 0,
        last_analysis: null,
      });
    });
    expect(await runCommand(context, ["monitor"])).toBe(0);
    expect(out.join("\n")).toMatch(/health +unknown, alignment not judged/);
    expect(out.join("\n")).toMatch(/coherence +not judged/);
  });
});

describe("rm", () => {
  const ended = () => Response.json({ ...SANDBOX, state: "terminated" });

  test("asks, and takes anything but yes for no", async () => {
    const { context, err, requests } = toTrial({ ask: async () => "" }, ended);
    expect(await runCommand(context, ["rm", id])).toBe(1);
    expect(err).toEqual(["Nothing was terminated."]);
    expect(requests).toEqual([]);
  });

  test.for([
    ["after a yes", ["rm", id]],
    ["without asking", ["rm", id, "--yes"]],
  ] as const)("terminates %s", async ([, argv]) => {
    const { context, out, requests } = toTrial({ ask: async () => "y" }, ended);
    expect(await runCommand(context, argv)).toBe(0);
    expect(requests.map((request) => request.method)).toEqual(["DELETE"]);
    expect(out).toEqual([`${id} terminated`]);
  });
});

describe("token", () => {
  test("create prints nothing but the secret on standard output", async () => {
    const { context, out, err, requests } = toTrial({}, () =>
      Response.json({ ...TOKEN, token: "drv_u_secret" }, { status: 201 }),
    );
    expect(await runCommand(context, ["token", "create", "ci", "--role", "viewer", "--expires", "2030-01-31"])).toBe(0);
    expect(out).toEqual(["drv_u_secret"]);
    expect(err).toEqual(["tok-000000000001 (viewer): shown this once."]);
    expect(requests[0]?.body).toEqual({ name: "ci", role: "viewer", expires_at: "2030-01-31T00:00:00.000Z" });
  });

  test("list says which are still valid", async () => {
    const items = [
      TOKEN,
      { ...TOKEN, revoked_at: "2026-01-01T00:00:00Z" },
      { ...TOKEN, expires_at: "2025-01-01T00:00:00Z" },
    ];
    const { context, out } = toTrial({}, () => Response.json({ items, next_cursor: null }));
    expect(await runCommand(context, ["token", "list"])).toBe(0);
    expect(out.slice(1).map((line) => line.split(/\s+/)[2])).toEqual(["valid", "revoked", "expired"]);
  });
});
