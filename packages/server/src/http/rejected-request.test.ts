/** A rejected request leaves no trace: who may not, and addresses that lead nowhere, over every endpoint there is. */
import { api } from "@drover/contract";
import { describe, expect } from "vitest";
import type { CallOptions } from "../../../testkit/src/http-call.ts";
import { BODIES } from "../../../testkit/src/refusal/bodies.ts";
import { expectProblem, leavesNoTrace, test } from "../../../testkit/src/refusal/refusal.ts";
import {
  ALL,
  ask,
  CLOSED,
  IN_SANDBOX,
  PERSONS,
  toPath,
  WITH_QUERY,
  WORKERS,
} from "../../../testkit/src/refusal/requests.ts";
import type { World } from "../../../testkit/src/refusal/world.ts";

test("every endpoint has a sample", () => {
  expect(Object.keys(BODIES).toSorted()).toEqual(Object.keys(api).toSorted());
});

describe("credentials", () => {
  const BAD_CREDENTIALS: readonly [string, (world: World) => CallOptions][] = [
    ["none", () => ({ token: undefined })],
    ["a bearer that nobody has", () => ({ token: "drv_u_garbage" })],
    ["a bearer of 10,000 characters", () => ({ token: "x".repeat(10_000) })],
    ["another scheme", () => ({ token: undefined, headers: { authorization: "Basic YTpi" } })],
    ["an empty bearer", () => ({ token: undefined, headers: { authorization: "Bearer " } })],
    ["a cookie that nobody has", () => ({ token: undefined, headers: { cookie: "drover_session=drv_c_garbage" } })],
    [
      "a token in place of the cookie",
      ({ tokens }) => ({ token: undefined, headers: { cookie: `drover_session=${tokens.admin}` } }),
    ],
    ["a revoked token", ({ tokens }) => ({ token: tokens.revoked })],
    ["an expired token", ({ tokens }) => ({ token: tokens.expired })],
    ["the token of an ended sandbox", ({ ended }) => ({ token: ended.token })],
    ["an unreadable header", () => ({ token: undefined, headers: { authorization: "Bearer \u00ff\u00fe" } })],
  ];
  test.for(BAD_CREDENTIALS)("%s is 401", async ([what, toOptions], { server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of CLOSED)
        expectProblem(await ask(server, world, one, toOptions(world)), 401, `${one.name} with ${what}`);
    });
  });

  test("a bad bearer is not saved by a good cookie", async ({ server, world }) => {
    const { body } = await server.call("POST", "/tokens", { body: { name: "cookie", role: "admin" } });
    const login = await server.call("POST", "/auth/login", { token: undefined, body: { token: body.token } });
    const cookie = String(login.headers["set-cookie"]).split(";")[0] ?? "";
    expect((await server.call("GET", "/auth/whoami", { token: undefined, headers: { cookie } })).status).toBe(200);
    await leavesNoTrace(server, async () => {
      for (const one of PERSONS)
        expectProblem(await ask(server, world, one, { token: "drv_u_garbage", headers: { cookie } }), 401, one.name);
    });
  });

  test("a role without the verb is 403", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of PERSONS) {
        const { verb } = one.endpoint;
        if (verb !== "read")
          expectProblem(await ask(server, world, one, { token: world.tokens.viewer }), 403, `${one.name} as viewer`);
        if (verb === "administer") {
          expectProblem(
            await ask(server, world, one, { token: world.tokens.operator }),
            403,
            `${one.name} as operator`,
          );
        }
      }
    });
  });

  test("what lies in another project does not exist", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        if (!/:(sandbox|project|token|ticket|task|pull)_id/.test(one.endpoint.path)) continue;
        expectProblem(
          await ask(server, world, one, { token: world.tokens.stranger }),
          404,
          `${one.name} as a stranger`,
        );
      }
      for (const name of [
        "createSandbox",
        "startDemo",
        "createToken",
        "createTicket",
        "createPull",
        "startBranch",
        "branchStatus",
      ] as const) {
        const body = { ...BODIES[name], project_id: world.projectId };
        expectProblem(
          await ask(server, world, { name, endpoint: api[name] }, { token: world.tokens.stranger, body }),
          404,
          name,
        );
      }
    });
  });

  test("an admin of one project makes no project and ends no token of all", async ({ server, world }) => {
    const whole = await server.createToken("viewer");
    await leavesNoTrace(server, async () => {
      const one = { name: "createProject", endpoint: api.createProject } as const;
      expectProblem(await ask(server, world, one, { token: world.tokens.admin }), 403, "createProject");
      const answer = await server.call("DELETE", `/tokens/${whole.id}`, { token: world.tokens.admin });
      expectProblem(answer, 404, "revokeToken");
    });
  });

  test("a worker's token is good for its own sandbox and its own routes only", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of IN_SANDBOX) {
        const answer = await ask(server, world, one, { token: world.mine.token, sandbox: world.foreign });
        expectProblem(answer, 404, `${one.name} of a foreign sandbox`);
      }
      for (const one of PERSONS)
        expectProblem(await ask(server, world, one, { token: world.mine.token }), 403, `${one.name} as worker`);
    });
  });

  test("a person does not pass for a worker", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WORKERS) {
        for (const token of [world.tokens.viewer, world.tokens.operator, world.tokens.admin]) {
          expectProblem(await ask(server, world, one, { token }), 403, `${one.name} as a person`);
        }
      }
    });
  });

  test("a worker that was replaced is told so, except that its late events are kept", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WORKERS) {
        if (one.name === "ingestEvents") continue;
        const answer = await ask(server, world, one, { token: world.fenced.token, sandbox: world.fenced });
        expectProblem(answer, 409, `${one.name} of the generation before`);
      }
    });
  });
});

describe("addresses", () => {
  const MALFORMED = [
    "x",
    "..",
    "%2e%2e",
    "drover-0000000-000000",
    "DROVER-00000000-000000",
    `drover-00000000-00000${"0".repeat(300)}`,
  ];

  test("an id that is none is 404", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        for (const [placeholder] of one.endpoint.path.matchAll(/:\w+/g)) {
          for (const id of MALFORMED) {
            const path = toPath(
              { ...one.endpoint, path: one.endpoint.path.replace(placeholder, id) },
              world,
              world.mine,
            );
            expectProblem(await ask(server, world, one, { path }), [404], `${one.endpoint.method} ${path}`);
          }
        }
      }
    });
  });

  test("a NUL character is 422, wherever it stands", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        for (const query of ["?q=%00", "?cursor=a%00b", "?a%00=b"]) {
          expectProblem(await ask(server, world, one, { query }), 422, `${one.name}${query}`);
        }
        const path = one.endpoint.path.replace(/:\w+/, "a%00b");
        if (path !== one.endpoint.path)
          expectProblem(
            await ask(server, world, one, { path: toPath({ ...one.endpoint, path }, world, world.mine) }),
            422,
            path,
          );
      }
    });
  });

  test("percent-encoding that is none is refused", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_QUERY) {
        for (const query of ["?q=%", "?q=%zz", "?%f=1", "?q=%ff"])
          expectProblem(await ask(server, world, one, { query }), 422, `${one.name}${query}`);
      }
      for (const one of ALL) {
        for (const id of ["%", "%zz", "%ff%fe", "%ed%a0%80"]) {
          const path = one.endpoint.path.replace(/:\w+/, id);
          if (path === one.endpoint.path) continue;
          expectProblem(
            await ask(server, world, one, { path: toPath({ ...one.endpoint, path }, world, world.mine) }),
            [400, 404, 422],
            path,
          );
        }
      }
    });
  });

  test("a query that is not in the contract is 422", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_QUERY) {
        for (const query of ["?unknown=1", "?limits=1", "?__proto__=1", "?constructor=1"]) {
          expectProblem(await ask(server, world, one, { query }), 422, `${one.name}${query}`);
        }
        const {
          limit,
          offset,
          cursor,
          after_seq: after,
        } = (one.endpoint.query?.shape ?? {}) as Record<string, unknown>;
        const wrong = [
          ...(limit === undefined
            ? []
            : [
                "limit=0",
                "limit=-1",
                "limit=1.5",
                "limit=1001",
                "limit=ten",
                "limit=1&limit=2",
                "limit=1e400",
                "limit=",
              ]),
          ...(offset === undefined ? [] : ["offset=-1", "offset=0.5", "offset=1e400", "offset=10000001", "offset="]),
          ...(cursor === undefined
            ? []
            : ["cursor=", `cursor=${"x".repeat(201)}`, "cursor=none-of-ours", "cursor=-1", "cursor=a&cursor=b"]),
          ...(after === undefined
            ? []
            : [
                "after_seq=-1",
                "after_seq=x",
                "after_seq=1.5",
                "after_seq=9007199254740992",
                "after_seq=1e400",
                "after_seq=",
              ]),
        ];
        for (const query of wrong)
          expectProblem(await ask(server, world, one, { query: `?${query}` }), 422, `${one.name}?${query}`);
      }
    });
  });

  test("each filter takes what the contract says and nothing else", async ({ server, world }) => {
    const sandbox = `/sandboxes/${world.mine.id}`;
    const queries = [
      "/sandboxes?status=alive",
      "/sandboxes?status=running&status=x",
      "/sandboxes?project_id=x",
      "/sandboxes?task_id=x",
      "/sandboxes?q=",
      `/sandboxes?q=${"x".repeat(201)}`,
      `/sandboxes?cursor=${Buffer.from("9999-99-99 99:99:99+99|a").toString("base64url")}`,
      `/sandboxes?cursor=${world.foreign.id.replace(/.$/, "x")}`,
      `${sandbox}/events?event_type=`,
      `${sandbox}/events?event_type=a%20b`,
      `${sandbox}/events?event_type=${"x".repeat(101)}`,
      `${sandbox}/events?source=root`,
      `${sandbox}/events?order=up`,
      `${sandbox}/events?before_seq=-1`,
      `${sandbox}/events?limit=501`,
      "/events?source=root",
      "/events?limit=501",
      `${sandbox}/trajectory?direction=up`,
      `${sandbox}/trajectory?noise=1`,
      `${sandbox}/trajectory?limit=1001`,
      `${sandbox}/trajectory?cursor=x`,
      `${sandbox}/files?path=`,
      `${sandbox}/files?path=${"x".repeat(4_097)}`,
      `${sandbox}/files?path=a&path=b`,
      `${sandbox}/files/content`,
      `${sandbox}/files/content?path=a&at_seq=-1`,
      `${sandbox}/logs?bytes=0`,
      `${sandbox}/logs?bytes=1048577`,
      `${sandbox}/logs?offset=-1`,
      `${sandbox}/terminal?limit=501`,
      // Drover has no way into a sandbox that it did not make.
      `${sandbox}/files`,
      `${sandbox}/files/content?path=a`,
      `${sandbox}/logs`,
    ];
    await leavesNoTrace(server, async () => {
      for (const query of queries) expectProblem(await server.call("GET", query), 422, query);
      const missing = `${sandbox}/trajectory?cursor=00000000-0000-7000-8000-000000000000`;
      expectProblem(await server.call("GET", missing), [404, 422], missing);
      for (const query of [
        "wait=1",
        "lease=0",
        "lease=301",
        "lease=30&wait=31",
        "lease=30&wait=-1",
        "lease=x",
        "wait=0",
      ]) {
        const path = `${sandbox}/messages?${query}`;
        expectProblem(await server.call("GET", path, { token: world.mine.token }), 422, path);
      }
    });
  });

  test("a foreign Host or Origin is 403", async ({ server, world }) => {
    const port = new URL(server.url).port;
    const headers: readonly Readonly<Record<string, string>>[] = [
      { host: "evil.example" },
      { host: `evil.example:${port}` },
      { host: "127.0.0.1.evil.example" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "garbage" },
      { origin: "http://127.0.0.1:1" },
      { origin: `http://localhost.evil.example:${port}` },
      { origin: "file://" },
    ];
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        for (const header of headers)
          expectProblem(
            await ask(server, world, one, { headers: header }),
            403,
            `${one.name} ${JSON.stringify(header)}`,
          );
      }
    });
  });
});
