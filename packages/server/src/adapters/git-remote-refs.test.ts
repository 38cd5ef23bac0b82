/** A repository elsewhere is asked for its branches: at the address that was judged, for a bounded time, and with nothing told to anybody else. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { locateRemote } from "../app/judge-remote.ts";
import { openRemoteRefs, type RemoteJudge } from "./git-remote-refs.ts";

const COMMIT = "a".repeat(40);
const packet = (text: string) => `${(text.length + 4).toString(16).padStart(4, "0")}${text}`;
const ADVERTISEMENT = [
  packet("# service=git-upload-pack\n"),
  "0000",
  packet(`${COMMIT} HEAD\0symref=HEAD:refs/heads/trunk agent=test\n`),
  packet(`${COMMIT} refs/heads/side\n`),
  packet(`${COMMIT} refs/heads/trunk\n`),
  "0000",
].join("");

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const advertise: Answer = (_, response) => {
  response.setHeader("content-type", "application/x-git-upload-pack-advertisement");
  response.end(ADVERTISEMENT);
};

async function host(answer: Answer) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const ANYWHERE: RemoteJudge = {
  locate: locateRemote,
  complainOfTarget: () => undefined,
  complainOfAddresses: () => undefined,
};
const resolver = { resolve: () => Promise.resolve(["127.0.0.1"]) };
const { signal } = new AbortController();

test("branches are listed from the address that was looked up, and a login travels in a header", async () => {
  await using server = await host(advertise);
  const remote = openRemoteRefs({ resolver, judge: ANYWHERE });
  const answer = await remote.list(`http://who:s%40cret@git.example.test:${server.port}/a.git`, signal);
  expect(answer).toEqual({ status: "listed", defaultBranch: "trunk", branches: ["side", "trunk"] });
  expect(server.asked.map(({ headers }) => [headers.host, headers.authorization])).toEqual([
    [`git.example.test:${server.port}`, `Basic ${Buffer.from("who:s@cret").toString("base64")}`],
  ]);
});

test("a final dot of the name is none for the judge, the look-up or the call, and a login is taken byte for byte", async () => {
  await using server = await host(advertise);
  const seen: string[] = [];
  const remote = openRemoteRefs({
    resolver: { resolve: async (name) => (seen.push(name), ["127.0.0.1"]) },
    judge: { ...ANYWHERE, complainOfTarget: (target) => void seen.push(target?.host ?? "none") },
  });
  const answer = await remote.list(`http://who%zz:%e9@git.example.test.:${server.port}/a.git`, signal);
  expect(answer.status).toBe("listed");
  expect(seen).toEqual(["git.example.test", "git.example.test"]);
  expect(server.asked.map(({ headers }) => [headers.host, headers.authorization])).toEqual([
    [`git.example.test:${server.port}`, `Basic ${Buffer.from("who%zz:\xe9", "latin1").toString("base64")}`],
  ]);
  expect(await remote.list("http://a..b/c.git", signal)).toMatchObject({ status: "refused" });
});

test("an address that is refused by name is not looked up, and one refused by address is not dialled", async () => {
  await using server = await host(advertise);
  const looked: string[] = [];
  const telling = {
    resolve: (name: string) => {
      looked.push(name);
      return Promise.resolve(["10.0.0.1"]);
    },
  };
  const byName = openRemoteRefs({ resolver: telling, judge: { ...ANYWHERE, complainOfTarget: () => "not there" } });
  expect(await byName.list("https://a.example.test/x.git", signal)).toEqual({ status: "refused", detail: "not there" });
  expect(looked).toEqual([]);
  const byAddress = openRemoteRefs({
    resolver: telling,
    judge: { ...ANYWHERE, complainOfAddresses: (_, addresses) => `not ${addresses.join()}` },
  });
  const answer = await byAddress.list(`http://b.example.test:${server.port}/x.git`, signal);
  expect([answer, looked, server.asked]).toEqual([
    { status: "refused", detail: "not 10.0.0.1" },
    ["b.example.test"],
    [],
  ]);
});

test("a redirect is not followed, silence ends, and what went wrong holds no password", async () => {
  await using target = await host(advertise);
  await using leading = await host((_, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${target.port}/a.git/info/refs?service=git-upload-pack` });
    response.end();
  });
  await using silent = await host(() => undefined);
  const remote = openRemoteRefs({ resolver, judge: ANYWHERE, timeLimitMs: 1_000 });
  const led = await remote.list(`http://who:secret@git.example.test:${leading.port}/a.git`, signal);
  expect([led.status, target.asked]).toEqual(["unreachable", []]);
  const unheard = await remote.list(`http://who:secret@git.example.test:${silent.port}/a.git`, signal);
  expect(unheard).toEqual({ status: "unreachable", detail: "git took too long" });
  expect(JSON.stringify([led, unheard])).not.toContain("secret");
});

test("what is no http address is not asked", async () => {
  const remote = openRemoteRefs({ resolver, judge: ANYWHERE });
  expect(await remote.list("git@example.test:a/b.git", signal)).toMatchObject({ status: "unchecked" });
  expect(await remote.list("ext::sh -c id", signal)).toMatchObject({ status: "unchecked" });
});
