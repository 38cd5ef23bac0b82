/**
 * What we run inside a pod: programs for its Node. A program and its order go in by stdin, not as arguments: those stand in the
 * cluster's audit log, and in the process list that the agent reads. After the order follow as many bytes as it says; the end of stdin
 * means that nobody listens any more.
 */
import { READ_OUT } from "../read-out.ts";

export const RECORDS = "/tmp/.drover";

/** Takes a length, an order and a program, and becomes that program. Short: it is part of each address. */
const BOOT = `let b=Buffer.alloc(0);const s=process.stdin;const f=(c)=>{b=Buffer.concat([b,c]);if(b.length<4)return;
const n=4+b.readUInt32BE(0);if(b.length<n)return;s.off("data",f);s.pause();const o=JSON.parse(b.subarray(4,n).toString());
if(b.length>n)s.unshift(b.subarray(n));new Function("require","order","stdin","boot",o.program)(require,o,s,process.execArgv.at(-1))};s.on("data",f)`;

export const COMMAND = ["node", "-e", BOOT] as const;

/** Of a header and the bytes that follow it. */
export function toInput(program: string, order: object, payload: Uint8Array = new Uint8Array()): Uint8Array {
  const header = Buffer.from(JSON.stringify({ ...order, bytes: payload.length, program }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(header.length);
  return Buffer.concat([length, header, payload]);
}

/** `feed` hands on the bytes that belong to the order, waiting where the reader is slow; `gone` is called when the caller is. */
const FEED = String.raw`
const feed = (onChunk, onEnd, gone) => {
  let left = order.bytes;
  let isOver = false;
  const over = () => { if (!isOver) { isOver = true; onEnd(); } };
  stdin.on("data", (chunk) => {
    const own = chunk.subarray(0, left);
    left -= own.length;
    if (own.length > 0 && onChunk(own) === false) stdin.pause();
    if (left === 0) over();
  });
  stdin.on("end", () => { if (left > 0) over(); gone(); });
  stdin.on("error", gone);
  if (left === 0) over();
  stdin.resume();
};
`;

/** The kernel's own count of processes that were killed for memory, in the container's control group. */
const OOM = String.raw`
const countOom = () => {
  try {
    return Number(/^oom_kill (\d+)/m.exec(require("node:fs").readFileSync("/sys/fs/cgroup/memory.events", "utf8"))[1]);
  } catch {
    return 0;
  }
};
`;

/**
 * Runs one command in a process group of its own, which dies with the caller. The last words on stderr, after a mark that only we know,
 * tell how it ended, since the cluster's status knows no signals, and how much there is on stdout: nothing tells whether a channel was
 * cut.
 */
export const RUN = String.raw`
${FEED}${OOM}${READ_OUT}
const { spawn } = require("node:child_process");
let said = 0;
const before = countOom();
let isTimedOut = false;
let isTold = false;
const end = (code, signal) => {
  if (isTold) return;
  isTold = true;
  const isOomKilled = countOom() > before;
  const told = "\0" + order.mark + JSON.stringify({ code, signal, isTimedOut, isOomKilled, said });
  process.stdout.write("", () => process.stderr.write(told, () => process.exit(0)));
};
const env = { ...process.env, ...order.env };
const isAway = !require("node:fs").existsSync(order.cwd + "/.");
if (isAway) order.argv = ["/bin/sh", "-c", 'echo "$0: no such directory" >&2; exit 126', order.cwd];
const child = spawn(order.argv[0], order.argv.slice(1), { cwd: isAway ? "/" : order.cwd, env, detached: true, stdio: "pipe" });
const kill = () => {
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {}
};
child.on("error", (error) => {
  process.stderr.write(order.argv[0] + ": " + (error.code === "ENOENT" ? "not found" : error.message) + "\n");
  end(error.code === "ENOENT" ? 127 : 126, null);
});
child.on("exit", (code, signal) => readOut([child.stdout, child.stderr], () => end(code, signal)));
const streams = [[child.stdout, process.stdout], [child.stderr, process.stderr]];
for (const [from, to] of streams) from.on("data", (chunk) => {
  if (isTold) return;
  if (from === child.stdout) said += chunk.length;
  if (to.write(chunk)) return;
  from.pause();
  to.once("drain", () => from.resume());
});
child.stdin.on("error", () => stdin.resume());
child.stdin.on("drain", () => stdin.resume());
child.stdin.on("close", () => stdin.resume());
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => (kill(), process.exit(1)));
feed(
  (chunk) => !child.stdin.writable || child.stdin.write(chunk),
  () => child.stdin.end(),
  () => (kill(), process.exit(1)),
);
if (order.timeoutMs !== undefined) setTimeout(() => ((isTimedOut = true), kill()), order.timeoutMs).unref();
`.trim();

/** Stays beside a detached process and notes its end. */
const KEEP = String.raw`
${FEED}
const { spawn } = require("node:child_process");
const { openSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const path = order.records + "/" + order.id;
const note = (fact) => {
  writeFileSync(path + ".part", JSON.stringify({ argv: order.argv, ...fact }));
  renameSync(path + ".part", path + ".json");
};
const startedAt = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ")[19];
note({ pid: process.pid, startedAt });
const log = openSync(path + ".log", "a");
const env = { ...process.env, ...order.env };
const child = spawn(order.argv[0], order.argv.slice(1), { cwd: order.cwd, env, detached: true, stdio: ["pipe", log, log] });
child.on("error", (error) => (note({ code: error.code === "ENOENT" ? 127 : 126, signal: null }), process.exit(0)));
child.on("exit", (code, signal) => (note({ code, signal }), process.exit(0)));
child.stdin.on("error", () => stdin.resume());
child.stdin.on("drain", () => stdin.resume());
child.stdin.on("close", () => stdin.resume());
process.stdout.on("error", () => {});
feed(
  (chunk) => !child.stdin.writable || child.stdin.write(chunk),
  () => (child.stdin.end(), process.stdout.write("{}\n")),
  () => {},
);
`.trim();

/** Starts `KEEP` beside itself and ends as soon as that has begun. */
export const DETACH = String.raw`
${FEED}
const { spawn } = require("node:child_process");
require("node:fs").mkdirSync(order.records, { recursive: true });
const keeper = spawn(process.execPath, ["-e", boot], { detached: true, stdio: ["pipe", "pipe", "ignore"] });
const header = Buffer.from(JSON.stringify({ ...order, program: order.keep }));
const length = Buffer.alloc(4);
length.writeUInt32BE(header.length);
keeper.stdin.on("error", () => stdin.resume());
keeper.stdin.on("drain", () => stdin.resume());
keeper.stdin.write(Buffer.concat([length, header]));
keeper.stdout.once("data", (line) => process.stdout.write(line, () => process.exit(0)));
keeper.once("exit", () => process.exit(1));
feed((chunk) => keeper.stdin.write(chunk), () => keeper.stdin.end(), () => {});
`.trim();
export const toDetachOrder = (order: object) => ({ ...order, records: RECORDS, keep: KEEP });

/** What has ended of what was detached, and what is used. One that could not note its end was killed from outside. */
export const REPORT = String.raw`
${OOM}
const { readdirSync, readFileSync } = require("node:fs");
const read = (path) => { try { return readFileSync(path, "utf8"); } catch { return ""; } };
const isAlive = ({ pid, startedAt }) => read("/proc/" + pid + "/stat").split(") ").at(-1).split(" ")[19] === startedAt;
const names = (() => { try { return readdirSync(order.records); } catch { return []; } })();
const ended = names.filter((name) => name.endsWith(".json")).flatMap((name) => {
  const { argv, code, signal, ...alive } = JSON.parse(read(order.records + "/" + name));
  if (code !== undefined) return [{ argv, code, signal }];
  return isAlive(alive) ? [] : [{ argv, code: null, signal: "SIGKILL" }];
});
const count = (name) => Number.parseInt(read("/sys/fs/cgroup/" + name), 10);
const usage = { memoryBytes: count("memory.current"), processes: count("pids.current") };
console.log(JSON.stringify({ ended, usage, isOomKilled: countOom() > 0 }));
process.exit(0);
`.trim();

/** Beside what was there and then in its place: never through a link, never half. */
export const PUT = String.raw`
${FEED}
const fs = require("node:fs");
const { dirname } = require("node:path");
const answer = (fact) => process.stdout.write(JSON.stringify(fact) + "\n", () => process.exit(0));
try {
  fs.mkdirSync(dirname(order.path), { recursive: true });
  const part = order.path + ".part-" + process.pid;
  const file = fs.openSync(part, "wx", 0o600);
  const mode = order.mode ?? 0o644;
  const undo = () => fs.rmSync(part, { force: true });
  feed(
    (chunk) => { for (let at = 0; at < chunk.length; ) at += fs.writeSync(file, chunk, at); },
    () => {
      fs.fchmodSync(file, mode);
      fs.closeSync(file);
      try { fs.renameSync(part, order.path); answer({}); } catch (error) { undo(); answer({ code: error.code }); }
    },
    () => { undo(); process.exit(1); },
  );
} catch (error) {
  answer({ code: error.code });
}
`.trim();

/** A line with the size, then the bytes. Opened without waiting, so that a pipe does not hold us. */
export const GET = String.raw`
const fs = require("node:fs");
try {
  const file = fs.openSync(order.path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY);
  const stat = fs.fstatSync(file);
  const code = !stat.isFile() ? "not a file" : stat.size > order.limit ? "too large" : undefined;
  process.stdout.write(JSON.stringify({ code }) + "\n");
  let left = code === undefined ? order.limit + 1 : 0;
  const send = () => {
    const chunk = Buffer.alloc(Math.min(left, 65536));
    const read = chunk.length === 0 ? 0 : fs.readSync(file, chunk, 0, chunk.length, null);
    left -= read;
    process.stdout.write(chunk.subarray(0, read), () => (read === 0 ? process.exit(0) : send()));
  };
  send();
} catch (error) {
  process.stdout.write(JSON.stringify({ code: error.code }) + "\n", () => process.exit(0));
}
`.trim();

export const LIST = String.raw`
const { lstatSync, readdirSync } = require("node:fs");
const kindOf = (stat) => (stat.isFile() ? "file" : stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "other");
const list = () => readdirSync(order.path, { encoding: "buffer" }).flatMap((name) => {
  const stat = lstatSync(Buffer.concat([Buffer.from(order.path + "/"), name]), { throwIfNoEntry: false });
  return stat ? [{ name: name.toString(), kind: kindOf(stat), size: stat.size, modifiedMs: stat.mtimeMs }] : [];
});
const answer = (() => { try { return { entries: list() }; } catch (error) { return { code: error.code }; } })();
process.stdout.write(JSON.stringify(answer) + "\n", () => process.exit(0));
`.trim();

/** Ends every process of a terminal's session, whose leader wrote its number into a file. */
export const HANG_UP = String.raw`
const { readdirSync, readFileSync, rmSync } = require("node:fs");
const read = (path) => { try { return readFileSync(path, "utf8"); } catch { return ""; } };
const session = read(order.path).trim();
const isOf = (pid) => read("/proc/" + pid + "/stat").split(") ").at(-1).split(" ")[3] === session;
if (/^\d+$/.test(session)) for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isOf(name))) {
  try { process.kill(Number(pid), "SIGKILL"); } catch {}
}
rmSync(order.path, { force: true });
console.log("{}");
process.exit(0);
`.trim();

/** The sandbox's own loopback, as this program's streams. What comes in has its length before each piece, and 0 for its end, because the
 *  cluster's channel cannot end one way alone; what goes out ends with this program. */
export const CONNECT = String.raw`
const inner = require("node:net").connect({ host: "127.0.0.1", port: order.port, allowHalfOpen: true });
const leave = () => process.stdout.write("", () => process.exit(0));
inner.once("connect", () => {
  let rest = Buffer.alloc(0);
  stdin.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
      const end = 4 + rest.readUInt32BE(0);
      if (end === 4) inner.end();
      else if (!inner.write(rest.subarray(4, end))) {
        stdin.pause();
        inner.once("drain", () => stdin.resume());
      }
      rest = rest.subarray(end);
    }
  });
  stdin.once("end", () => inner.destroy());
  inner.once("end", leave);
  inner.pipe(process.stdout);
  process.stderr.write("connected");
  stdin.resume();
});
inner.on("error", () => process.exit(1));
inner.once("close", leave);
`.trim();
