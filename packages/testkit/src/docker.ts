/** A private dockerd with an image made of this machine's own programs: no registry, no network, nothing left behind. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { globSync } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { askEngine as ask, startDockerd } from "./dockerd.ts";

const run = promisify(execFile);

const IMAGE = "drover-test";
const OUTPUT_LIMIT_BYTES = 8 * 1024 * 1024;

/** Besides coreutils, which come as a whole. */
const PROGRAMS = ["bash", "dash", "sh", "find", "git", "grep", "perl", "script", "sed", "setsid", "tar", "xargs"];

/** Of every image, though none of these programs needs them: agents do. */
const LIBRARIES = "/usr/lib/*-linux-gnu/lib{rt,pthread,dl,m}.so.*";

export interface TestEngine extends AsyncDisposable {
  /** `unix://…` */
  readonly host: string;
  /** An image in the engine that has what sandboxes need. */
  readonly image: string;
  /** Ends the engine and every container in it; its files stay until it is disposed of. */
  stop(): Promise<void>;
}

/** The file under the real name of its directory and, where it is a link, what it leads to. */
async function follow(path: string): Promise<readonly string[]> {
  const own = join(await realpath(dirname(path)), basename(path));
  const isLink = (await lstat(own)).isSymbolicLink();
  return isLink ? [own, ...(await follow(await realpath(own)))] : [own];
}

async function listPrograms(): Promise<readonly string[]> {
  const coreutils = (await run("dpkg", ["-L", "coreutils"])).stdout.split("\n").filter((path) => /\/bin\/./.test(path));
  return [...coreutils, ...PROGRAMS.map((name) => `/usr/bin/${name}`)];
}

/** What `ldd` names for all of them, the loader included. */
async function listLibraries(programs: readonly string[]): Promise<readonly string[]> {
  // Expected: a complaint about those that are scripts or links of their own, beside the answer for the others.
  const { stdout } = await run("ldd", [...programs], { maxBuffer: OUTPUT_LIMIT_BYTES }).catch(
    (error: { stdout: string }) => error,
  );
  return [
    ...globSync(LIBRARIES),
    ...new Set(Array.from(stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm), ([, path = ""]) => path)),
  ];
}

/** The directories and the few files that are not copied. Nothing is made for sandboxes: any image must do. */
async function makeSkeleton(directory: string): Promise<void> {
  for (const path of ["usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "tmp"])
    await mkdir(join(directory, path), { recursive: true });
  await chmod(join(directory, "tmp"), 0o1777);
  for (const name of ["bin", "sbin", "lib", "lib64"]) await symlink(`usr/${name}`, join(directory, name));
  await writeFile(join(directory, "etc/passwd"), "root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/bash\n");
  await writeFile(join(directory, "etc/group"), "root:x:0:\nagent:x:1000:\n");
}

async function packImage(scratch: string): Promise<ChildProcess & { readonly stdout: Readable }> {
  const programs = await listPrograms();
  const copied = [...programs, ...(await listLibraries([...programs, process.execPath]))];
  const paths = [...new Set((await Promise.all(copied.map(follow))).flat())].map((path) => relative("/", path));
  const skeleton = join(scratch, "skeleton");
  await makeSkeleton(skeleton);
  const node = ["-C", dirname(process.execPath), basename(process.execPath)];
  const rename = `--transform=s,^${basename(process.execPath)}$,usr/local/bin/node,`;
  const args = ["-c", "--owner=0", "--group=0", rename, "-C", skeleton, ".", ...node, "-C", "/", ...paths];
  return spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] });
}

async function importImage(socket: string, scratch: string): Promise<void> {
  const tar = await packImage(scratch);
  const packed = new Promise<number | null>((resolve) => tar.once("exit", resolve));
  const imported = await ask(socket, "POST", `/images/create?fromSrc=-&repo=${IMAGE}`, tar.stdout);
  // 1: something about a file changed meanwhile, such as the number of its links.
  if (((await packed) ?? 2) > 1 || imported.includes('"error"')) throw new Error(`the image was not made: ${imported}`);
}

export async function startDocker(): Promise<TestEngine> {
  const scratch = await mkdtemp(join(tmpdir(), "drover-docker-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(scratch, { recursive: true, force: true }));
  const daemon = undo.use(await startDockerd(scratch, "none"));
  await importImage(daemon.socket, scratch);
  const kept = undo.move();
  return { host: daemon.host, image: IMAGE, stop: daemon.stop, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
