/** Installs agents with npm: into a directory beside, which is renamed once it is whole. */
import { randomBytes } from "node:crypto";
import { type ChildProcess, spawn } from "node:child_process";
import { access, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AGENT_PINS, AppError, type AgentName, type AgentPackage, type AgentPin } from "@drover/contract";
import { z } from "zod";
import type { AgentPackages } from "../ports/agent-packages.ts";
import type { Log } from "../ports/log.ts";

const RECEIPT = "installed.json";
const LOOK_EVERY_MS = 500;
const SAID_CHARACTERS = 4_000;
const ALMOST = 99;
/** What npm needs of our environment: never a key. */
const PASSED_ON =
  /^(PATH|HOME|LANG|TMPDIR|(npm_config_.*)|((https?|no)_proxy)|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;

const Receipt = z.object({ npm: z.string(), version: z.string(), bytes: z.number(), at: z.string() });
type Receipt = z.infer<typeof Receipt>;

export interface NpmOptions {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** What is installed under which name; the pinned ones unless a test says otherwise. */
  readonly pins?: Readonly<Record<AgentName, AgentPin>>;
  /** The program and its first arguments. */
  readonly npm?: readonly [string, ...string[]];
}

interface Running {
  readonly done: Promise<void>;
  readonly child: ChildProcess;
  percent: number;
}

async function measure(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    // Expected: npm renames while we look.
    bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
}

/** The end of what a program said, which is where it says why. */
function listen(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (chunk: string) => (text = (text + chunk).slice(-SAID_CHARACTERS)));
  return () => text.trim();
}

const toExit = (child: ChildProcess) =>
  new Promise<{ code: number | null; error?: NodeJS.ErrnoException }>((resolve) => {
    child.once("error", (error) => resolve({ code: null, error }));
    child.once("close", (code) => resolve({ code }));
  });

export function openNpmPackages(options: NpmOptions): AgentPackages {
  const pins: Readonly<Record<AgentName, AgentPin>> = options.pins ?? AGENT_PINS;
  const names = Object.keys(pins) as AgentName[];
  const [npm, ...firstArgs] = options.npm ?? ["npm"];
  const env = Object.fromEntries(Object.entries(options.env).filter(([name]) => PASSED_ON.test(name)));
  const running = new Map<AgentName, Running>();
  const failures = new Map<AgentName, string>();

  const placeOf = (name: AgentName) => join(options.directory, name, pins[name].version);

  const readReceipt = async (name: AgentName): Promise<Receipt | undefined> => {
    const text = await readFile(join(placeOf(name), RECEIPT), "utf8").catch(() => undefined);
    return text === undefined ? undefined : Receipt.safeParse(JSON.parse(text)).data;
  };

  const describe = async (name: AgentName): Promise<AgentPackage> => {
    const { title, npm: package_, version, bytes } = pins[name];
    const work = running.get(name);
    const receipt = await readReceipt(name);
    const failure = failures.get(name);
    const found = await readdir(join(options.directory, name)).catch(() => []);
    const state =
      work !== undefined
        ? "installing"
        : receipt !== undefined
          ? "installed"
          : failure === undefined
            ? "absent"
            : "failed";
    return {
      name,
      title,
      npm_package: package_,
      version,
      state,
      progress_percent: work?.percent ?? null,
      detail:
        state === "installing" ? `npm fetches ${package_}@${version}` : state === "failed" ? (failure ?? null) : null,
      size_bytes: receipt?.bytes ?? bytes,
      installed_at: receipt?.at ?? null,
      other_versions: found.filter((one) => one !== version && !one.startsWith(".")),
    };
  };

  const finish = async (name: AgentName, making: string): Promise<void> => {
    const { npm: package_, version, entry } = pins[name];
    await access(join(making, entry)).catch((cause: unknown) => {
      throw new Error(`${package_}@${version} was fetched, but has no ${entry}`, { cause });
    });
    const receipt: Receipt = { npm: package_, version, bytes: await measure(making), at: new Date().toISOString() };
    await writeFile(join(making, RECEIPT), JSON.stringify(receipt));
    // What lies there without a receipt was never finished.
    if ((await readReceipt(name)) === undefined) await rm(placeOf(name), { recursive: true, force: true });
    await rename(making, placeOf(name)).catch(async (error: unknown) => {
      // Expected: another process was faster. What it made is as good.
      if ((await readReceipt(name)) === undefined) throw error;
    });
  };

  const start = async (name: AgentName): Promise<void> => {
    const { npm: package_, version, bytes } = pins[name];
    const making = join(options.directory, name, `.${version}-${randomBytes(4).toString("hex")}`);
    await mkdir(making, { recursive: true, mode: 0o755 });
    await writeFile(join(making, "package.json"), JSON.stringify({ private: true }));
    const args = ["install", "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const child = spawn(npm, [...firstArgs, ...args, `${package_}@${version}`], {
      cwd: making,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = listen(child);
    const exited = toExit(child);
    const look = setInterval(() => {
      void measure(making).then((has) => {
        const work = running.get(name);
        if (work !== undefined)
          work.percent = Math.max(work.percent, Math.min(ALMOST, Math.floor((has / bytes) * 100)));
      });
    }, LOOK_EVERY_MS);
    const work = async () => {
      try {
        const { code, error } = await exited;
        if (error?.code === "ENOENT") throw new Error("npm was not found; install Node.js with npm and try again");
        if (error !== undefined) throw error;
        if (code !== 0) throw new Error(said() === "" ? `npm ended with ${code}` : said());
        await finish(name, making);
        options.log.info("agent.installed", { name, version });
      } catch (error) {
        // Told to whoever asks for the list: nobody waits for this promise.
        failures.set(name, error instanceof Error ? error.message : String(error));
        options.log.warn("agent.install_failed", { name, version, reason: String(error) });
      } finally {
        clearInterval(look);
        await rm(making, { recursive: true, force: true });
        running.delete(name);
      }
    };
    running.set(name, { child, percent: 0, done: work() });
  };

  const starting = new Map<AgentName, Promise<void>>();
  return {
    list: () => Promise.all(names.map(describe)),
    async install(name) {
      if ((await readReceipt(name)) === undefined && !running.has(name)) {
        failures.delete(name);
        const begun = starting.get(name) ?? start(name).finally(() => starting.delete(name));
        starting.set(name, begun);
        await begun;
      }
      return describe(name);
    },
    async remove(name) {
      const work = running.get(name);
      work?.child.kill("SIGTERM");
      await work?.done;
      failures.delete(name);
      await rm(join(options.directory, name), { recursive: true, force: true });
      return describe(name);
    },
    find: async (name) => ((await readReceipt(name)) === undefined ? undefined : placeOf(name)),
    async pack(name, signal) {
      const child = spawn("tar", ["-czf", "-", "-C", placeOf(name), "."], {
        signal,
        stdio: ["ignore", "pipe", "ignore"],
      });
      const chunks: Buffer[] = [];
      child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
      const { code, error } = await toExit(child);
      if (code !== 0) throw new AppError("runtime.unavailable", `the agent ${name} cannot be packed`, { cause: error });
      return Buffer.concat(chunks);
    },
    async close() {
      for (const { child } of running.values()) child.kill("SIGTERM");
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}
