/** A workspace in a sandbox of one of the server's providers: local, docker or daytona. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { AppError, type Config, SandboxId } from "@drover/contract";
import {
  checkOut,
  ensureAgentInside,
  findAgentMounts,
  openDaytona,
  openDocker,
  openGitMirrors,
  openLocalProvider,
  openNpmPackages,
  openText,
  requireRuntime,
  type SandboxLimits,
  type SandboxProvider,
  type SandboxRef,
} from "@drover/server/sandbox";
import { EXEC_LIMIT_MS, FILE_LIMIT_BYTES, NEVER, OUTPUT_LIMIT_BYTES, type Workspace } from "./workspace.ts";

const GIBIBYTE = 1024 ** 3;
const PROCESSES = 512;
const INSIDE = "/workspace";
const BUILT = resolve(import.meta.dirname, "../../worker/dist");
export const WORKER_BUNDLE = join(BUILT, "worker.mjs");

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface SandboxWorkspace extends Workspace {
  readonly mode: "local" | "docker" | "daytona";
  readonly id: SandboxId;
  readonly provider: SandboxProvider;
  readonly ref: SandboxRef;
  /** Where installed agents are seen inside. */
  readonly agentsDir: string;
}

export interface SandboxWorkspaceOptions {
  readonly mode: "local" | "docker" | "daytona";
  readonly config: Config;
  /** Variables that everything inside sees; never a secret. */
  readonly env?: Readonly<Record<string, string>>;
  /** An installed agent, which is shown inside. */
  readonly runtime?: string | undefined;
  readonly image?: string | undefined;
  readonly snapshot?: string | undefined;
  /** Below it what the provider keeps on this machine; a directory of its own unless told. */
  readonly root?: string | undefined;
  readonly signal?: AbortSignal;
}

const toLimits = ({ sandboxMemoryGb, sandboxCpu, sandboxDiskGb }: Config): SandboxLimits => ({
  memoryBytes: Math.round(sandboxMemoryGb * GIBIBYTE),
  cpus: sandboxCpu,
  diskBytes: Math.round(sandboxDiskGb * GIBIBYTE),
  processes: PROCESSES,
});

/** An unavailable provider is an error, never another one. */
function openProvider({ mode, config }: SandboxWorkspaceOptions, root: string): Promise<SandboxProvider> {
  if (mode === "local")
    return openLocalProvider({
      base: join(root, "sandboxes"),
      node: process.execPath,
      supervisor: join(BUILT, "supervisor.cjs"),
      worker: WORKER_BUNDLE,
      log: SILENT,
      isUnsafe: config.unsafeNoSandbox,
    });
  if (mode === "docker")
    return openDocker({ host: config.dockerHost, image: config.sandboxImage, base: join(root, "containers") });
  return Promise.resolve(
    openDaytona({
      apiKey: config.daytonaApiKey,
      apiUrl: config.daytonaApiUrl,
      target: config.daytonaTarget,
      snapshot: config.daytonaSnapshot,
      image: config.sandboxImage,
      timeoutSeconds: config.daytonaTimeoutSeconds,
    }),
  );
}

export async function openSandboxWorkspace(options: SandboxWorkspaceOptions): Promise<SandboxWorkspace> {
  const root = options.root ?? (await mkdtemp(join(tmpdir(), "drover-direct-")));
  const id = SandboxId.parse(`drover-${randomBytes(4).toString("hex")}-${randomBytes(3).toString("hex")}`);
  const { config, signal = NEVER } = options;
  const directory = resolve(config.agentsDir ?? join(config.dataDir, "agents"));
  const installed = { agents: openNpmPackages({ directory, env: {}, log: SILENT }) };
  const wanted = { runtime: options.runtime ?? null };
  let provider: SandboxProvider | undefined;
  let ref: SandboxRef | undefined;
  const end = async () => {
    if (provider !== undefined && ref !== undefined) await provider.destroy(ref, NEVER);
    await provider?.close();
    if (options.root === undefined) await rm(root, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await requireRuntime(installed, options.runtime);
    provider = await openProvider(options, root);
    ref = await provider.ensure(
      {
        key: `${id}-g1`,
        labels: { "drover.installation": "direct", "drover.sandbox": id, "drover.generation": "1" },
        limits: toLimits(config),
        env: options.env ?? {},
        ...(await findAgentMounts(installed, provider, wanted)),
        ...(options.image === undefined ? {} : { image: options.image }),
        ...(options.snapshot === undefined ? {} : { snapshot: options.snapshot }),
      },
      signal,
    );
    const agentsDir = await ensureAgentInside(installed, provider, ref, wanted, signal);
    return { ...toWorkspace(options.mode, id, provider, ref, root, end), agentsDir };
  } catch (error) {
    await end().catch(() => undefined); // why it could not be made is what counts
    throw error;
  }
}

function toWorkspace(
  mode: SandboxWorkspace["mode"],
  id: SandboxId,
  provider: SandboxProvider,
  ref: SandboxRef,
  root: string,
  end: () => Promise<void>,
): Omit<SandboxWorkspace, "agentsDir"> {
  let ended: Promise<void> | undefined;
  const dispose = () => (ended ??= end());
  return {
    mode,
    id,
    directory: INSIDE,
    provider,
    ref,
    exec: async (argv, { cwd, env, timeoutMs = EXEC_LIMIT_MS, signal = NEVER } = {}) => {
      const stdout = openText(OUTPUT_LIMIT_BYTES);
      const stderr = openText(OUTPUT_LIMIT_BYTES);
      const command = { argv, timeoutMs, ...(cwd === undefined ? {} : { cwd }), ...(env === undefined ? {} : { env }) };
      for await (const event of provider.exec(ref, command, signal)) {
        if (event.type !== "exit") (event.type === "stdout" ? stdout : stderr).write(event.chunk);
        else {
          const [out, err] = [stdout.end().text, stderr.end().text];
          return { exitCode: event.code, stdout: out, stderr: err, timedOut: event.isTimedOut };
        }
      }
      throw new AppError("sandbox.unavailable", "the command's end was not told");
    },
    readFile: (path, signal = NEVER) => provider.download(ref, path, FILE_LIMIT_BYTES, signal),
    writeFile: (path, content, signal = NEVER) =>
      provider.upload(ref, path, typeof content === "string" ? Buffer.from(content) : content, {}, signal),
    list: async (path = INSIDE, signal = NEVER) =>
      (await provider.listFiles(ref, path, signal)).map(({ name, kind, size }) => ({ name, kind, size })),
    gitClone: async (repo, { branch, signal = NEVER } = {}) => {
      const mirrors = openGitMirrors(join(root, "mirrors"));
      const bundle = async (target: string) => {
        const { defaultBranch } = await mirrors.bundle(repo, target, signal);
        return { branch: branch ?? defaultBranch };
      };
      await checkOut(provider, ref, bundle, signal);
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}
