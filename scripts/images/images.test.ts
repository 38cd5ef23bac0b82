/** The script that builds the images, as a program: against a socket of ours and with a `docker` that notes what it is told. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../steps.ts";
import { IMAGES } from "./plan-builds.ts";

interface Ended {
  readonly code: unknown;
  readonly said: string;
  /** The arguments of each call of `docker`. */
  readonly calls: readonly (readonly string[])[];
}

const DOCKER = `#!${process.execPath}
require("node:fs").appendFileSync(process.env.NOTED, JSON.stringify(process.argv.slice(2)) + "\\n");
process.exitCode = Number(process.env.DOCKER_CODE);
`;

async function openScratch() {
  const scratch = await mkdtemp(join(tmpdir(), "drover-images-"));
  onTestFinished(() => rm(scratch, { recursive: true, force: true }));
  await writeFile(join(scratch, "docker"), DOCKER, { mode: 0o700 });
  return scratch;
}

/** A socket that answers as an engine does when it is asked whether it is there. */
async function startEngine(scratch: string, status: number): Promise<string> {
  const server = createServer((request, answer) => answer.writeHead(request.url === "/_ping" ? status : 404).end());
  const socket = join(scratch, "docker.sock");
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return `unix://${socket}`;
}

async function runImages(scratch: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const noted = join(scratch, "noted");
  const PATH = `${scratch}${delimiter}${process.env.PATH ?? ""}`;
  const env = { ...process.env, PATH, NOTED: noted, DOCKER_CODE: "0", ...more };
  const { promise, resolve } = Promise.withResolvers<Pick<Ended, "code" | "said">>();
  execFile(process.execPath, [join(ROOT, "scripts/images.ts"), ...args], { env, cwd: scratch }, (error, _, said) =>
    resolve({ code: error === null ? 0 : error.code, said }),
  );
  const ended = await promise;
  const lines = existsSync(noted) ? (await readFile(noted, "utf8")).trimEnd().split("\n") : [];
  return { ...ended, calls: lines.map((line) => JSON.parse(line) as string[]) };
}

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const toCall = (host: string, file: string, name: string, context: string) => [
  "--host",
  host,
  "build",
  "--file",
  file,
  "--tag",
  name,
  "--tag",
  `${name}:${version}`,
  context,
];

test("both images are built at the engine that is named, or the one that is asked for", async () => {
  const scratch = await openScratch();
  const host = await startEngine(scratch, 200);
  const server = toCall(host, "Dockerfile", "drover", ".");
  const sandbox = toCall(host, "docker/Dockerfile", "drover-sandbox", "docker");
  expect(await runImages(scratch, ["--host", host])).toEqual({ code: 0, said: "", calls: [server, sandbox] });
  const more = await runImages(scratch, ["sandbox"], { DOCKER_HOST: host });
  expect(more).toEqual({ code: 0, said: "", calls: [server, sandbox, sandbox] });
});

test("the first build that fails is the last one, and its code is the script's", async () => {
  const scratch = await openScratch();
  const host = await startEngine(scratch, 200);
  const ended = await runImages(scratch, ["--host", host], { DOCKER_CODE: "7" });
  expect(ended).toMatchObject({ code: 7, calls: [toCall(host, "Dockerfile", "drover", ".")] });
});

test("without an engine nothing is built, and it is said which one did not answer", async () => {
  const scratch = await openScratch();
  const nowhere = `unix://${join(scratch, "gone.sock")}`;
  const ended = await runImages(scratch, ["--host", nowhere]);
  expect(ended).toMatchObject({ code: 1, calls: [] });
  expect(ended.said).toContain(`no engine answers at ${nowhere}`);
  const broken = await startEngine(scratch, 500);
  const refused = await runImages(scratch, [], { DOCKER_HOST: broken });
  expect(refused).toMatchObject({ code: 1, calls: [] });
  expect(refused.said).toContain("it answered with 500");
});

test.for([
  [["fridge"], "images knows server, sandbox; not fridge"],
  [["--host", "docker.sock"], "docker.sock is no address of an engine"],
  [["--hots", "x"], "Unknown option '--hots'"],
] as const)("what it does not know is refused: %j", async ([args, complaint]) => {
  const ended = await runImages(await openScratch(), args);
  expect(ended).toMatchObject({ code: 2, calls: [] });
  expect(ended.said).toContain(complaint);
});

test("every image has its Dockerfile, and the name that what ships knows it by", () => {
  for (const { dockerfile } of IMAGES) expect(existsSync(join(ROOT, dockerfile)), dockerfile).toBe(true);
  const [server, sandbox] = IMAGES.map(({ repository }) => repository);
  expect(readFileSync(join(ROOT, "compose.yaml"), "utf8")).toContain(`image: ${server}\n`);
  expect(readFileSync(join(ROOT, "deploy/helm/drover/values.yaml"), "utf8")).toContain(`/${sandbox}:${version}\n`);
});
