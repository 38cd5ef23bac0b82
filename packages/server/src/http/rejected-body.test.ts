/** A rejected body leaves no trace: broken, too large, or not in the contract, over every endpoint that takes one. */
import { api, EVENT_DATA_LIMIT_BYTES, type EndpointName } from "@drover/contract";
import { describe } from "vitest";
import { BODIES } from "../../../testkit/src/refusal/bodies.ts";
import { expectProblem, leavesNoTrace, test } from "../../../testkit/src/refusal/refusal.ts";
import { ALL, ask, CLOSED, toPath, WITH_BODY } from "../../../testkit/src/refusal/requests.ts";
import { BODY_LIMIT_BYTES } from "./body.ts";

describe("bodies", () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const BROKEN: readonly [string, string | Uint8Array, number][] = [
    ["text that is not JSON", "{", 400],
    ["blanks", "  ", 400],
    ["a byte order mark", "\ufeff{}", 400],
    ["bytes that are not UTF-8", Buffer.from('{"a":"\xff\xfe"}', "latin1"), 400],
    [
      "half a surrogate pair in CESU-8",
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
      400,
    ],
    ["9 MiB", `{"a":"${"x".repeat(9 * 1024 * 1024)}"}`, 413],
    ["one byte over the limit", `"${"x".repeat(BODY_LIMIT_BYTES - 1)}"`, 413],
    ["a NUL character in a value", '{"a":"\\u0000"}', 422],
    ["a NUL character in a key", '{"\\u0000":1}', 422],
    ["half a surrogate pair", '{"a":"\\ud800"}', 422],
    ["half a surrogate pair in a key", '{"\\udc00":1}', 422],
    ["a number beyond doubles", '{"a":1e400}', 422],
    ["a negative number beyond doubles", '{"a":[-1e400]}', 422],
    ["65 levels", nested(65), 422],
    ["10,000 levels", nested(10_000), 422],
    ["100,000 levels of arrays", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, 422],
  ];
  test.for(BROKEN)("%s", async ([what, raw, status], { server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        if (one.endpoint.method !== "POST" && one.endpoint.method !== "PATCH") continue;
        expectProblem(await ask(server, world, one, { raw }), status, `${one.name} with ${what}`);
      }
    });
  });

  test("a body of another type is 422", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_BODY) {
        for (const raw of ["null", "[]", '"text"', "1", "true", "[{}]"]) {
          expectProblem(await ask(server, world, one, { raw }), 422, `${one.name} ${raw}`);
        }
      }
    });
  });

  /** What of these values is fine after all. */
  const FINE: ReadonlySet<string> = new Set([
    "updateTicketContext context={}",
    "setDependencies depends_on=[]",
    "setTaskTimeout timeout_seconds=1",
    "mergeBranch pr_number=1",
    "keepGitHubToken token=null",
    "reportValidation passed=true",
    "setAgentAvailability available=true",
    'reportValidation feedback=""',
  ]);

  test("a field that is not in the contract, or of another type, is 422", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_BODY) {
        const body = BODIES[one.name] ?? {};
        expectProblem(
          await ask(server, world, one, { body: { ...body, unknown: 1 } }),
          422,
          `${one.name} with an unknown field`,
        );
        for (const field of Object.keys(body)) {
          // A description may be empty and may be taken away.
          const isNumber = typeof body[field] === "number";
          for (const value of [isNumber ? "1" : 1, true, [], {}, ...(field === "description" ? [] : [null, ""])]) {
            if (FINE.has(`${one.name} ${field}=${JSON.stringify(value)}`)) continue;
            expectProblem(
              await ask(server, world, one, { body: { ...body, [field]: value } }),
              422,
              `${one.name} ${field}=${JSON.stringify(value)}`,
            );
          }
        }
      }
    });
  });

  test("a content type that is none does no harm", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_BODY) {
        for (const type of [
          "",
          "garbage",
          "text/plain",
          "application/json; charset=\u00ff",
          ";;;",
          "multipart/form-data",
        ]) {
          const answer = await ask(server, world, one, { raw: "{", headers: { "content-type": type } });
          expectProblem(answer, 400, `${one.name} as ${type}`);
        }
      }
    });
  });

  const REFUSED: readonly [EndpointName, Readonly<Record<string, unknown>>][] = [
    ["createToken", { name: " ", role: "viewer" }],
    ["createToken", { name: "x".repeat(101), role: "viewer" }],
    ["createToken", { name: "x", role: "root" }],
    ["createToken", { name: "x", role: "viewer", expires_at: "tomorrow" }],
    ["createToken", { name: "x", role: "viewer", expires_at: "2026-02-30T00:00:00Z" }],
    ["createToken", { name: "x", role: "viewer", expires_at: "0000-01-01T00:00:00Z" }],
    ["createToken", { name: "x", role: "viewer", project_id: "default" }],
    ["createProject", { name: "" }],
    ["createProject", { name: "x".repeat(101) }],
    ["createProject", { name: "x", description: "x".repeat(2_001) }],
    ["updateProject", { name: null }],
    ["updateProject", { repo: "" }],
    ["createSandbox", { provider: "kubernetes" }],
    ["createSandbox", { provider: "nowhere" }],
    ["createSandbox", { provider: "external", prompt: "x".repeat(100_001) }],
    ["createSandbox", { provider: "external", resources: { memory_gb: 9 } }],
    ["createSandbox", { provider: "external", resources: { cpu: 0 } }],
    ["createSandbox", { provider: "external", env: { "1A": "x" } }],
    ["createSandbox", { provider: "external", labels: { a: 1 } }],
    ["createSandbox", { provider: "external", labels: { "": "a" } }],
    ["createSandbox", { provider: "external", task_id: "x" }],
    ["createSandbox", { provider: "external", runtime: "../sh" }],
    ["createSandbox", { provider: "external", timeout_s: 1.5 }],
    ["createSandbox", { provider: "external", budget_usd: -1 }],
    ["createSandbox", { provider: "external", network: "all" }],
    ["createSandbox", { provider: "external", script: [] }],
    ["execCommand", { argv: [1] }],
    ["execCommand", { argv: "true" }],
    ["execCommand", { argv: ["true"], cwd: "" }],
    ["execCommand", { argv: ["true"], env: { "1A": "x" } }],
    ["execCommand", { argv: ["true"], env: { A: 1 } }],
    ["execCommand", { argv: ["true"], timeout_s: 0 }],
    ["execCommand", { argv: ["true"], timeout_s: 3_601 }],
    ["execCommand", { argv: ["true"] }],
    ["pruneSandboxes", { all: 1 }],
    ["pruneSandboxes", { dry_run: "yes" }],
    ["sendMessage", { content: "" }],
    ["sendMessage", { content: "x".repeat(10_001) }],
    ["sendMessage", { content: "😀".repeat(10_001) }],
    ["sendMessage", { content: "x", message_type: "shout" }],
    ["sendMessage", { content: "x", message_type: "toString" }],
    ["sendMessage", { content: "x", delivery: "now" }],
    ["ackMessage", { status: "queued" }],
    ["ackMessage", { status: "expired" }],
    ["ackMessage", { status: "seen", turn: -1 }],
    ["ackMessage", { status: "seen", turn: 1.5 }],
    ["ackMessage", { status: "seen", turn: 2_147_483_648 }],
    ["ackMessage", { status: "seen", detail: "x".repeat(2_001) }],
    ["heartbeat", { status: "x".repeat(51) }],
    ["heartbeat", { detail: [] }],
  ];
  /** As short as a name of a test should be. */
  const toTitle = (body: unknown) => JSON.stringify(body).replace(/(.{40}).{40,}(?=.{20})/su, "$1…");
  test.for(REFUSED.map(([name, body]) => [name, toTitle(body), body] as const))(
    "%s %s is 422",
    async ([name, , body], { server, world }) => {
      await leavesNoTrace(server, async () => {
        expectProblem(await ask(server, world, { name, endpoint: api[name] }, { body }), 422, name);
      });
    },
  );

  test("a key that is empty or too long is 422", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of CLOSED.filter(({ endpoint }) => endpoint.method === "POST")) {
        for (const key of ["", "x".repeat(201)]) {
          expectProblem(
            await ask(server, world, one, {
              path: toPath(one.endpoint, world, world.mine).replace(":name", "claude"),
              headers: { "idempotency-key": key },
            }),
            422,
            `${one.name} with a key of ${key.length}`,
          );
        }
      }
    });
  });
});

describe("events", () => {
  const good = { event_type: "agent.message" };
  const WRONG: readonly [string, unknown, number][] = [
    ["no type", {}, 422],
    ["an empty type", { event_type: "" }, 422],
    ["a type of 101 characters", { event_type: "x".repeat(101) }, 422],
    ["a type with a blank", { event_type: "agent message" }, 422],
    ["a type with a slash", { event_type: "agent/message" }, 422],
    ["a type with an umlaut", { event_type: "agent.m\u00e4ssage" }, 422],
    ["a type with a line end", { event_type: "agent.message\n" }, 422],
    ["a source of the server", { ...good, source: "server" }, 422],
    ["a source of people", { ...good, source: "user" }, 422],
    ["a source of the guardian", { ...good, source: "guardian" }, 422],
    ["data that is a list", { ...good, event_data: [] }, 422],
    ["data that is text", { ...good, event_data: "x" }, 422],
    ["data that is null", { ...good, event_data: null }, 422],
    ["an empty client_event_id", { ...good, client_event_id: "" }, 422],
    ["a client_event_id of 201 characters", { ...good, client_event_id: "x".repeat(201) }, 422],
    ["a seq of its own", { ...good, seq: 1 }, 422],
    ["a sandbox of its own", { ...good, sandbox_id: "drover-00000000-000000" }, 422],
    ["a batch of none", { events: [] }, 422],
    ["a batch of 1,001", { events: Array.from({ length: 1_001 }, () => good) }, 422],
    ["a batch that is an object", { events: {} }, 422],
    ["a batch with a field beside it", { events: [good], source: "agent" }, 422],
    ["a batch whose last event is wrong", { events: [good, good, { event_type: "" }] }, 422],
    ["a batch whose last event is reserved", { events: [good, good, { event_type: "MESSAGE_QUEUED" }] }, 422],
    [
      "a batch whose last event is too large",
      { events: [good, { ...good, event_data: { a: "x".repeat(EVENT_DATA_LIMIT_BYTES) } }] },
      413,
    ],
    [
      "data one byte over the limit",
      { ...good, event_data: { a: "x".repeat(EVENT_DATA_LIMIT_BYTES - '{"a":""}'.length + 1) } },
      413,
    ],
    [
      "data over the limit in bytes only",
      { ...good, event_data: { a: "\u00e4".repeat(EVENT_DATA_LIMIT_BYTES / 2) } },
      413,
    ],
  ];
  test.for(WRONG)("%s is refused", async ([what, body, status], { server, world }) => {
    await leavesNoTrace(server, async () => expectProblem(await world.mine.post(body), status, what));
  });

  test("the server's own types are refused from workers in every form", async ({ server, world }) => {
    const types = [
      "MESSAGE_QUEUED",
      "message.queued",
      "Message-Queued",
      "message_queued",
      "SPAWNED",
      "spawned",
      "STATE_CHANGED",
      "state.changed",
    ];
    const more = [
      "agent.usage",
      "AGENT_USAGE",
      "agent-usage",
      "sandbox.spawned",
      "SANDBOX_SPAWNED",
      "TASK_COMPLETED",
      "task.completed",
      "token.revoked",
    ];
    const rest = [
      "WORKER_REPLACED",
      "TERMINATED",
      "terminated",
      "PR_MERGED",
      "guardian.steering.intervention",
      "cost.recorded",
      "project.created",
    ];
    await leavesNoTrace(server, async () => {
      for (const event_type of [...types, ...more, ...rest])
        expectProblem(await world.mine.post({ event_type }), 422, event_type);
    });
  });

  test("a heartbeat whose detail is too large is refused", async ({ server, world }) => {
    const body = { detail: { a: "x".repeat(EVENT_DATA_LIMIT_BYTES) } };
    await leavesNoTrace(server, async () => {
      expectProblem(
        await ask(server, world, { name: "heartbeat", endpoint: api.heartbeat }, { body }),
        413,
        "heartbeat",
      );
    });
  });
});
