import { api, credentialEndpoints, type Api } from "@drover/contract";
import { expect, test } from "vitest";
import { createClientByNeed } from "./create-client.ts";

const WHOAMI = { token_id: "tok-000000000001", name: "a", role: "viewer", project_id: null };

function play() {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (url) => {
    asked.push(url instanceof Request ? url.url : url.toString());
    return Response.json(asked.at(-1)?.endsWith("/whoami") === true ? WHOAMI : { items: [], next_cursor: null });
  };
  return { asked, fetch };
}

test("the whole table is loaded by the first call that needs it, again where that failed, and never by what is there", async () => {
  const { asked, fetch } = play();
  const tables: (Api | Error)[] = [new Error("the line was cut"), api, api];
  const loadApi = async () => {
    const table = tables.shift();
    if (table === undefined || table instanceof Error) throw table ?? new Error("none left");
    return table;
  };
  const client = createClientByNeed({ baseUrl: "http://h", fetch }, credentialEndpoints, loadApi);
  await client.whoami();
  expect(tables).toHaveLength(3);
  await expect(client.listProjects()).rejects.toMatchObject({ code: "client.unreachable", isRetryable: true });
  await expect(client.listProjects()).resolves.toMatchObject({ items: [] });
  expect(asked).toEqual(["http://h/api/v1/auth/whoami", "http://h/api/v1/projects"]);
  expect(client.baseUrl).toBe("http://h");
});

test("it is a value like any other where a promise gives it", async () => {
  const client = createClientByNeed({ fetch: play().fetch }, {}, async () => api);
  await expect(Promise.resolve(client)).resolves.toBe(client);
});
