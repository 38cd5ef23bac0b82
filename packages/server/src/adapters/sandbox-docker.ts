/** Sandboxes as containers of a Docker or Podman engine. Images hold sh, GNU coreutils and find, and what agents need. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { AppError } from "@drover/contract";
import type Docker from "dockerode";
import type { Log } from "../ports/log.ts";
import type {
  ExecCommand,
  Labels,
  SandboxLimits,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from "../ports/sandbox-provider.ts";
import {
  linkSockets,
  listClaims,
  loadClaim,
  mountedSockets,
  noteClaim,
  removeClaim,
  removeSockets,
  toClaimedRef,
} from "./docker/claims.ts";
import {
  connectEngine,
  identifyEngine,
  requireEngine,
  statusOf,
  toAppError,
  type Connection,
} from "./docker/connection.ts";
import {
  HOME,
  parseInheritedEnv,
  parseLimits,
  parseOwner,
  parseRef,
  SOCKETS,
  toContainer,
  toFilter,
  toName,
  WARM_FILTER,
} from "./docker/container.ts";
import { connectInside } from "./docker/connect-inside.ts";
import { openDiskWatch, type DiskWatch } from "./docker/disk-watch.ts";
import { packDirectories } from "./docker/directories.ts";
import { startDetachedExec } from "./docker/exec-stream.ts";
import { downloadFile, listDirectory, uploadFile } from "./docker/files.ts";
import { loadReport, NO_REPORT, toInfo, type Report } from "./docker/report.ts";
import { runCommand, WORKSPACE } from "./docker/run-command.ts";
import { NOTES, RUN_DETACHED } from "./docker/scripts.ts";
import { ensureProfile } from "./docker/seccomp-profile.ts";
import { startTerminal } from "./docker/terminal.ts";
import { isNamedAlive, nameOwnProcess } from "./local/process-table.ts";
import { openWarmPool, type WarmPool } from "./warm-pool.ts";

const RACE_LIMIT_MS = 3_000;
const GONE_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 50;
const SNAPSHOTS = "drover-snapshot";
const REFERENCE = /^\w[\w.@:/-]{0,254}$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DEFAULT_UID = 1000;
const OWN_MODE = 0o755;
/** Keys of containers that stand ready. */
const WARM = "warm-";
const EVERYBODYS_MODE = 0o1777;

export interface DockerOptions {
  /** `unix:///path` (or the path) or `tcp://host:port`. */
  readonly host: string;
  /** For sandboxes that name none. */
  readonly image: string;
  /** Below it each sandbox has a directory that is its `/run/cp`. Only for engines that see this machine's files under the same path. */
  readonly base?: string;
  /** Of the engine; `none` unless told. */
  readonly network?: string;
  /** Who everything inside is; 1000 unless told, never 0. */
  readonly uid?: number;
  /** Only the workspace, the home and /tmp can be written. The first two are volumes then: the image has them with the right owner, and
   *  no snapshot holds them. */
  readonly isRootReadOnly?: boolean;
  /** How many stand ready before they are asked for; none unless told. */
  readonly warm?: { readonly size: number; readonly limits: SandboxLimits; readonly log: Log };
}

/** With `size`, which the engine counts only when it is asked to. */
type Sized = Docker.ContainerInspectInfo & { readonly SizeRw?: number };

class DockerSandboxes implements SandboxProvider {
  readonly name = "docker";
  readonly capabilities;
  readonly #connection: Connection;
  readonly #options: DockerOptions;
  /** The last report of each container: a paused one cannot be asked. */
  readonly #reports = new Map<string, Report>();

  readonly #disks: DiskWatch;
  readonly #pool: WarmPool<SandboxSpec, string> | undefined;

  readonly #seccomp: string | undefined;

  constructor(connection: Connection, options: DockerOptions, seccomp: string | undefined) {
    this.#seccomp = seccomp;
    this.#disks = openDiskWatch(connection);
    this.#connection = connection;
    this.#options = options;
    this.capabilities = {
      pause: true,
      snapshot: options.isRootReadOnly !== true,
      terminal: true,
      socketDirectory: options.base !== undefined,
      egressPolicy: options.base !== undefined && (options.network ?? "none") === "none",
      mounts: connection.isLocal,
      survivesServer: true,
    };
    this.#pool = options.warm === undefined ? undefined : this.#openPool(options.warm);
  }

  #openPool({ size, limits, log }: NonNullable<DockerOptions["warm"]>): WarmPool<SandboxSpec, string> {
    const owner = `${hostname()}/${nameOwnProcess()}`;
    return openWarmPool<SandboxSpec, string>({
      size,
      first: { key: WARM, labels: {}, env: {}, limits },
      // Labels, variables and the name are told outside; everything else is decided when it is made.
      toShape: (spec) =>
        spec.snapshot === undefined && spec.image === undefined
          ? JSON.stringify([spec.limits, spec.agents ?? []])
          : undefined,
      make: async (spec, signal) => {
        const key = `${WARM}${nameOwnProcess()}-${randomBytes(4).toString("hex")}`;
        const container = this.#container({ key });
        const made = { key, labels: {}, env: {}, limits: spec.limits, agents: spec.agents ?? [] };
        try {
          // To its end: an engine goes on with a request that was given up, and would leave what nobody removes.
          await this.#create(made, new AbortController().signal, owner);
          signal.throwIfAborted();
          await this.#bringUp(container, new AbortController().signal);
        } catch (error) {
          // Nobody else knows of it: one that was not finished is removed at once.
          await this.#remove(key);
          throw error;
        }
        return key;
      },
      isReady: async (key, signal) => (await this.#container({ key }).inspect({ abortSignal: signal })).State.Running,
      discard: (key) => this.#remove(key),
      log,
    });
  }

  /** Removes what a server of this machine kept ready that was killed: no row knows it. */
  async removeUnowned(): Promise<void> {
    const found = await this.#connection.docker.listContainers({ all: true, filters: WARM_FILTER });
    for (const { Names: names, Labels: labels } of found) {
      const key = names.map((name) => name.replace(/^\/?drover-/, "")).find((name) => name.startsWith(WARM));
      const [host, process] = parseOwner(labels)?.split("/") ?? [];
      if (key !== undefined && host === hostname() && !isNamedAlive(process ?? "")) await this.#remove(key);
    }
  }

  async ensure(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxRef> {
    return this.#ask(signal, async () => {
      const container = this.#container(spec);
      const deadline = performance.now() + RACE_LIMIT_MS;
      while (!(await this.#bringUp(container, signal))) {
        await this.#claimOrCreate(spec, signal).catch(async (error: unknown) => {
          // The name is taken (Docker says 409, Podman 500) by another caller, whose container can be found a little later.
          const isRace = statusOf(error) === 409 || statusOf(error) === 500;
          if (!isRace || performance.now() > deadline) throw error;
          await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
        });
      }
      const found = await container.inspect({ abortSignal: signal });
      const { Id, Config } = found;
      this.#disks.watch(Id, parseLimits(Config.Labels).diskBytes);
      if (parseOwner(Config.Labels) === undefined) return parseRef(Id, Config.Labels);
      const mounted = mountedSockets(found, SOCKETS);
      if (this.#options.base !== undefined && mounted !== undefined)
        await linkSockets(this.#options.base, spec.key, mounted);
      return toClaimedRef(Id, (await loadClaim(this.#connection, spec.key)) ?? spec);
    });
  }

  /** A ready container gets the name and becomes the sandbox; without one, it is made. */
  async #claimOrCreate(spec: SandboxSpec, signal: AbortSignal): Promise<void> {
    const warm = await this.#pool?.take(spec, signal);
    if (warm === undefined) return this.#create(spec, signal);
    try {
      await noteClaim(this.#connection, spec);
      await this.#container({ key: warm }).rename({ name: toName(spec.key), abortSignal: signal });
    } catch (error) {
      await this.#remove(warm);
      throw error;
    }
  }

  /** With the variables that a claimed container was not made with. */
  async #withClaimed<T extends Pick<ExecCommand, "env">>(ref: { readonly key: string }, command: T): Promise<T> {
    const claim = await loadClaim(this.#connection, ref.key).catch((error: unknown) => {
      throw toAppError(error, this.#connection);
    });
    return claim === undefined ? command : { ...command, env: { ...claim.env, ...command.env } };
  }

  async *exec(...[ref, command, signal]: Parameters<SandboxProvider["exec"]>) {
    yield* runCommand(this.#connection, this.#container(ref), await this.#withClaimed(ref, command), signal);
  }

  async openTerminal(...[ref, size, signal]: Parameters<SandboxProvider["openTerminal"]>) {
    const { env } = await this.#withClaimed<{ env: Readonly<Record<string, string>> }>(ref, { env: {} });
    return startTerminal(this.#connection, this.#container(ref), { size, env }, signal);
  }

  async upload(...[ref, path, bytes, { mode }, signal]: Parameters<SandboxProvider["upload"]>) {
    await uploadFile(this.#connection, this.#container(ref), { path, bytes, mode }, signal);
  }

  async download(...[ref, path, limitBytes, signal]: Parameters<SandboxProvider["download"]>) {
    return downloadFile(this.#connection, this.#container(ref), { path, limitBytes }, signal);
  }

  async listFiles(ref: SandboxRef, path: string, signal: AbortSignal) {
    return listDirectory(this.#connection, this.#container(ref), path, signal);
  }

  async startDetached(...[ref, asked, signal]: Parameters<SandboxProvider["startDetached"]>): Promise<void> {
    const command = await this.#withClaimed(ref, asked);
    // Sorts by the time of the start.
    const id = `${Date.now()}-${randomBytes(6).toString("hex")}`;
    const container = this.#container(ref);
    let input = "/dev/null";
    if (command.stdin !== undefined) {
      input = `${NOTES}/stdin-${id}`;
      const file = { path: input, bytes: command.stdin, mode: 0o600 };
      await uploadFile(this.#connection, container, file, signal);
    }
    const words = [`${NOTES}/ended-${id}`, input, command.cwd ?? WORKSPACE, ...command.argv];
    const argv = ["sh", "-c", RUN_DETACHED, "sh", ...words];
    const start = { argv, env: command.env ?? {}, isTerminal: false };
    await startDetachedExec(this.#connection, container, start, signal);
  }

  async connect(ref: SandboxRef, port: number, signal: AbortSignal) {
    return connectInside(this.#connection, this.#container(ref), port, signal);
  }

  socketDirectory(ref: { readonly key: string }): string | undefined {
    return this.#options.base === undefined ? undefined : join(this.#options.base, toName(ref.key));
  }

  async info(ref: SandboxRef, signal: AbortSignal) {
    return this.#ask(signal, async () => {
      const container = this.#container(ref);
      const found = await container.inspect({ abortSignal: signal }).catch(orMissing);
      if (found === undefined) return undefined;
      if (found.State.Running && !found.State.Paused) {
        // Expected to fail while every process the sandbox may have is used up, or when it ends just now.
        const report = await loadReport(this.#connection, container, signal).catch(() => undefined);
        if (report !== undefined) this.#reports.set(found.Id, report);
      }
      const info = toInfo(found, this.#reports.get(found.Id) ?? NO_REPORT);
      const full = info.state === "stopped" ? this.#disks.reasonOf(found.Id) : undefined;
      return full === undefined ? info : { ...info, reason: full };
    });
  }

  async list(labels: Labels, signal: AbortSignal): Promise<readonly SandboxRef[]> {
    return this.#ask(signal, async () => {
      const options = { all: true, filters: toFilter(labels), abortSignal: signal };
      const made = await this.#connection.docker.listContainers(options);
      const refs = [
        // Those that stand ready have an empty key.
        ...made.map(({ Id, Labels }) => parseRef(Id, Labels)).filter(({ key }) => key !== ""),
        ...(await this.#listClaimed(signal)),
      ];
      // A sandbox made from a snapshot has labels of the one it was taken of, which the engine's filter takes for its own.
      return refs.filter((ref) => Object.entries(labels).every(([name, value]) => ref.labels[name] === value));
    });
  }

  async #listClaimed(signal: AbortSignal): Promise<readonly SandboxRef[]> {
    const claims = await listClaims(this.#connection);
    if (claims.length === 0) return [];
    const options = { all: true, filters: WARM_FILTER, abortSignal: signal };
    const found = await this.#connection.docker.listContainers(options);
    const ids = new Map(found.flatMap(({ Id, Names }) => Names.map((name) => [name.replace(/^\//, ""), Id] as const)));
    return claims.flatMap((claim) => {
      const id = ids.get(toName(claim.key));
      return id === undefined ? [] : [toClaimedRef(id, claim)];
    });
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#switch(ref, "Paused", true, (container) => container.pause({ abortSignal: signal }), signal);
  }

  async resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#switch(ref, "Paused", false, (container) => container.unpause({ abortSignal: signal }), signal);
  }

  async snapshot(ref: SandboxRef, name: string, signal: AbortSignal): Promise<{ readonly snapshot: string }> {
    if (!this.capabilities.snapshot)
      throw new AppError(
        "sandbox.rejected",
        "files of a sandbox with a read-only root are in volumes, which no image holds",
      );
    if (!TAG.test(name)) throw new AppError("sandbox.rejected", `${JSON.stringify(name)} cannot name a snapshot`);
    await this.#ask(signal, async () => {
      const container = this.#container(ref);
      await this.#requireSmall(container, signal);
      await container.commit({ repo: SNAPSHOTS, tag: name, abortSignal: signal });
    });
    return { snapshot: `${SNAPSHOTS}:${name}` };
  }

  /** An image has holes of files written out: seven sparse files could fill the engine's disk. */
  async #requireSmall(container: Docker.Container, signal: AbortSignal): Promise<void> {
    const found: Sized = await container.inspect({ size: true, abortSignal: signal } as object);
    const { diskBytes } = parseLimits(found.Config.Labels);
    if ((found.SizeRw ?? 0) > diskBytes)
      throw new AppError(
        "sandbox.rejected",
        `a snapshot would take ${found.SizeRw} bytes, and the sandbox may have ${diskBytes}`,
      );
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#ask(signal, async () => {
      const container = this.#container(ref);
      const remove = () => container.remove({ force: true, v: true, abortSignal: signal });
      // Expected: it is not there, or someone else is removing it.
      await remove().catch((error: unknown) => (statusOf(error) === 409 ? undefined : orMissing(error)));
      const deadline = performance.now() + GONE_LIMIT_MS;
      while ((await container.inspect({ abortSignal: signal }).catch(orMissing)) !== undefined) {
        if (performance.now() > deadline)
          throw new AppError("sandbox.unavailable", `${ref.key} is still being removed`);
        await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
      }
      this.#reports.delete(ref.id);
      this.#disks.forget(ref.id);
      await removeClaim(this.#connection, ref.key);
      if (this.#options.base !== undefined) await removeSockets(this.#options.base, ref.key);
    });
  }

  /** Of one that stands ready, whoever asks. */
  async #remove(key: string): Promise<void> {
    await this.destroy({ key, id: key, labels: {} }, new AbortController().signal);
  }

  async close(): Promise<void> {
    await this.#pool?.close();
    await this.#disks.close();
    this.#reports.clear();
  }

  #container(ref: { readonly key: string }): Docker.Container {
    return this.#connection.docker.getContainer(toName(ref.key));
  }

  async #ask<T>(signal: AbortSignal, question: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    try {
      return await question();
    } catch (error) {
      throw toAppError(error, this.#connection, signal);
    }
  }

  async #create(spec: SandboxSpec, signal: AbortSignal, owner?: string): Promise<void> {
    // Of a claim that was not finished.
    if (this.#pool !== undefined && owner === undefined) await removeClaim(this.#connection, spec.key);
    const { docker } = this.#connection;
    const { image: fallback, uid = DEFAULT_UID, network = "none", isRootReadOnly = false } = this.#options;
    const image = spec.snapshot ?? spec.image ?? fallback;
    // It becomes part of an address of the engine.
    if (!REFERENCE.test(image) || /(?:^|\/)\.\.?(?:\/|$)|\/\//.test(image))
      throw new AppError("sandbox.rejected", `${JSON.stringify(image)} is no name of an image`);
    const kept = await docker.getImage(image).inspect().catch(orMissing);
    if (kept === undefined)
      throw new AppError("sandbox.rejected", `the engine has no image ${image}; fetch it first: docker pull ${image}`);
    const socketDirectory = this.socketDirectory(spec);
    if (socketDirectory !== undefined) await mkdir(socketDirectory, { recursive: true, mode: OWN_MODE });
    const withoutEnv = parseInheritedEnv(kept.Config.Labels);
    const seccomp = this.#seccomp;
    const settings = { image, uid, gid: uid, network, isRootReadOnly, socketDirectory, withoutEnv, seccomp, owner };
    await docker.createContainer({ ...toContainer(spec, settings), abortSignal: signal });
  }

  /** Until commands can run. False when there is no such container. */
  async #bringUp(container: Docker.Container, signal: AbortSignal): Promise<boolean> {
    const found = await container.inspect({ abortSignal: signal }).catch(orMissing);
    if (found === undefined) return false;
    if (found.State.Paused) await container.unpause({ abortSignal: signal });
    if (found.State.Running) return true;
    // Into a read-only root nothing can be put: such an image has them.
    if (found.State.Status === "created" && !found.HostConfig.ReadonlyRootfs) await this.#makeDirectories(container);
    // 304: another caller was faster.
    await container
      .start({ abortSignal: signal })
      .catch((error: unknown) => (statusOf(error) === 304 ? undefined : Promise.reject(error as Error)));
    return true;
  }

  /** While nothing runs in it yet: an archive is unpacked with the engine's rights. */
  async #makeDirectories(container: Docker.Container): Promise<void> {
    const own = { mode: OWN_MODE, uid: this.#options.uid ?? DEFAULT_UID };
    // A tmpfs takes the mode of what it is mounted on, whatever it was asked for.
    const everybodys = { mode: EVERYBODYS_MODE, uid: 0 };
    const directories = [
      { path: WORKSPACE, ...own },
      { path: HOME, ...own },
      { path: "/tmp", ...everybodys },
      { path: NOTES, ...everybodys },
    ];
    await container.putArchive(packDirectories(directories), { path: "/" });
  }

  /** Does it unless it is so already, also when another caller was faster. */
  async #switch(
    ref: SandboxRef,
    what: "Paused",
    wanted: boolean,
    act: (container: Docker.Container) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#ask(signal, async () => {
      const container = this.#container(ref);
      const isSo = async () => (await container.inspect({ abortSignal: signal })).State[what] === wanted;
      if (await isSo()) return;
      await act(container).catch(async (error: unknown) => {
        if (!(await isSo())) throw error;
      });
    });
  }
}

/** Undefined for what the engine does not have. */
function orMissing(error: unknown): undefined {
  if (statusOf(error) !== 404) throw error;
}

export async function openDocker(options: DockerOptions): Promise<SandboxProvider> {
  if (options.uid === 0) throw new AppError("config.invalid", "nothing in a sandbox may be root");
  const connection = await connectEngine(options.host);
  if (options.base !== undefined && !connection.isLocal)
    throw new AppError("config.invalid", `the engine at ${options.host} cannot see directories of this machine`);
  await requireEngine(connection);
  const seccomp = await ensureProfile(await identifyEngine(connection), options.base);
  const sandboxes = new DockerSandboxes(connection, options, seccomp);
  if (options.warm !== undefined) await sandboxes.removeUnowned();
  return sandboxes;
}
