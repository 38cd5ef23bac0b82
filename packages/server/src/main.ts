/** The composition root: the only file that knows which adapter is used. */
import { readFile, writeFile } from "node:fs/promises";
import { homedir, hostname, networkInterfaces } from "node:os";
import { join, resolve } from "node:path";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { pickRecorded, resolveSizes, toCassetteFacts } from "@drover/core";
import { AppError, type Config, type OptionName, type ResolvedResources } from "@drover/contract";
import { openNpmPackages } from "./adapters/agent-packages-npm.ts";
import { openDiskBlobs } from "./adapters/blob-disk.ts";
import { openMemoryBus } from "./adapters/bus-memory.ts";
import { openRedisBus } from "./adapters/bus-redis.ts";
import { openRedisBuckets } from "./adapters/buckets-redis.ts";
import { openGitCheckpoints } from "./adapters/checkpoint-git.ts";
import { systemClock } from "./adapters/clock-system.ts";
import { lockDataDir } from "./adapters/data-dir.ts";
import { openDiskRoom } from "./adapters/disk-room.ts";
import { systemResolver } from "./adapters/egress/name-resolver.ts";
import { openRegistries } from "./adapters/egress/registries.ts";
import { openEgressProxy } from "./adapters/egress-proxy.ts";
import { openConversationSource } from "./adapters/conversation-http.ts";
import { openPostgres } from "./adapters/db-postgres.ts";
import { openBareRepositories } from "./adapters/git-bare.ts";
import { openBuiltinHost } from "./adapters/git-builtin.ts";
import { openCassettes, openRecorder } from "./adapters/model-cassette.ts";
import { openHttpVendors } from "./adapters/model-http.ts";
import { openGitHub } from "./adapters/git-github.ts";
import { openGitMirrors } from "./adapters/git-mirror.ts";
import { openRemoteRefs } from "./adapters/git-remote-refs.ts";
import { randomIds } from "./adapters/ids-random.ts";
import { startPostgres } from "./adapters/postgres-embedded.ts";
import { diskStorage } from "./adapters/storage-dir.ts";
import { openVault } from "./adapters/vault-file.ts";
import { openWebhookPost } from "./adapters/webhook-post.ts";
import { requireKey } from "./adapters/daytona/client.ts";
import { openDaytona } from "./adapters/sandbox-daytona.ts";
import { openDocker } from "./adapters/sandbox-docker.ts";
import { openKubernetes, toKubernetesOptions } from "./adapters/sandbox-kubernetes.ts";
import { openLocalProvider } from "./adapters/sandbox-local.ts";
import { openRemote } from "./adapters/sandbox-remote.ts";
import { awaitDatabase } from "./app/await-database.ts";
import { openCredentials } from "./app/credential.ts";
import type { Deps } from "./app/deps.ts";
import { openRemoteJudge } from "./app/judge-remote.ts";
import { openWebhookJudge } from "./app/judge-webhook.ts";
import { openIngest } from "./app/ingest-events.ts";
import { parseEgressSettings } from "./app/govern-egress.ts";
import { ensureSeedPrices, openModels } from "./app/models.ts";
import { openOwnBuckets } from "./app/own-buckets.ts";
import { recordPass } from "./app/pass-record.ts";
import { tellMonitoring } from "./app/tell-monitoring.ts";
import { openProviders } from "./app/providers.ts";
import { toLimits } from "./app/sandbox-key.ts";
import { ensureDefaultProject } from "./app/manage-projects.ts";
import { createLoginCode, ensureAdmin, ensureOwner } from "./app/manage-tokens.ts";
import { shareStorage } from "./app/share-storage.ts";
import { noteCheckpoints } from "./app/open-checkpoints.ts";
import { openTail } from "./app/tail-events.ts";
import { mountSite } from "./http/mount.ts";
import { openSandboxGate } from "./http/sandbox-gate.ts";
import { startLoop } from "./loop.ts";
import { LOOPS } from "./loops.ts";
import { toOwnAddress } from "./own-address.ts";
import type { NameResolver } from "./ports/egress.ts";
import type { Bus } from "./ports/bus.ts";
import type { Clock } from "./ports/clock.ts";
import type { Fault } from "./ports/fault.ts";
import { NO_JUDGE, type Judge } from "./ports/judge.ts";
import type { Log } from "./ports/log.ts";
import type { Traces } from "./ports/traces.ts";
import { loadInstallation, releaseLeases } from "./store/lifecycle.ts";
import { migrate } from "./store/migrate.ts";
import { leaveReplica, saveReplica, takeTurn } from "./store/replicas.ts";
import { releaseDeliveries } from "./store/webhooks.ts";

const CLI_NAME = "command line";
const EVERY_SECOND_MS = 1_000;
const BUS_LOOK_MS = 20;
/** Of the time between two passes: another replica's turn comes when this one has missed its own. */
const TURN_SHARE = 0.9;
const PACKAGES = resolve(import.meta.dirname, "../..");

export interface ServerOptions {
  readonly config: Config;
  /** Where settings came from, to be shown with what they decide. */
  readonly origins?: Partial<Record<OptionName, { readonly kind: string; readonly name: string }>>;
  readonly log: Log;
  /** Aborting it stops the server, as `stop` does. */
  readonly signal: AbortSignal;
  readonly fault?: Fault;
  /** The system's unless given. */
  readonly clock?: Clock;
  /** Looks up names for sandboxes; the system's unless given. */
  readonly resolver?: NameResolver;
}

export interface RunningServer {
  readonly url: string;
  /** Logs one browser in, once. */
  readonly loginUrl: string;
  /** An admin's token for commands on this machine. */
  readonly cliToken: string;
  readonly deps: Deps;
  /** Resolves when `/readyz` says so for the first time; with false when the server stops before that. */
  readonly ready: Promise<boolean>;
  stop(): Promise<void>;
  /** Settles when the server has stopped, for whatever reason. */
  readonly done: Promise<void>;
}

/** What was opened is closed in reverse order, whether the start went through or not. */
function openCleanup() {
  const steps: (() => Promise<void>)[] = [];
  let ended: Promise<void> | undefined;
  return {
    add: (step: () => Promise<void>) => void steps.push(step),
    run: () =>
      (ended ??= (async () => {
        for (const step of steps.toReversed()) await step();
      })()),
  };
}

/** Kept between starts, so that a command's credential survives a restart of the server; a revoked one is replaced. */
async function keepCliToken(deps: Deps, dataDir: string): Promise<string> {
  const path = join(dataDir, "cli.token");
  // Expected: the first start, when there is none.
  const known = await readFile(path, "utf8").catch(() => "");
  if (known.startsWith("drv_u_") && (await ensureAdmin(deps, CLI_NAME, known)) !== undefined) return known;
  const secret = randomIds.secret("user");
  await ensureAdmin(deps, CLI_NAME, secret);
  await writeFile(path, secret, { mode: 0o600 });
  return secret;
}

function toResources({ config, origins }: ServerOptions): ResolvedResources {
  const origin = (name: OptionName) => {
    const found = origins?.[name];
    return found === undefined || found.kind === "default" ? "default" : found.name;
  };
  return {
    memory_gb: { value: config.sandboxMemoryGb, origin: origin("sandboxMemoryGb") },
    cpu: { value: config.sandboxCpu, origin: origin("sandboxCpu") },
    disk_gb: { value: config.sandboxDiskGb, origin: origin("sandboxDiskGb") },
    image: { value: config.sandboxImage, origin: origin("sandboxImage") },
    snapshot: { value: config.daytonaSnapshot, origin: origin("daytonaSnapshot") },
  };
}

/** The vendors' libraries are large: who has no judge does not load them. */
async function loadJudge(config: Config, log: Log): Promise<Judge> {
  if (config.judgeModel === undefined || !config.llmAnalysisEnabled) return NO_JUDGE;
  const { openJudge } = await import("./adapters/judge-model.ts");
  return openJudge({ model: config.judgeModel, log });
}

/** Who has no collector does not load its library. */
async function loadTraces(config: Config, instance: string): Promise<Traces | undefined> {
  if (config.otelEndpoint === undefined) return undefined;
  const { openOtlpTraces } = await import("./adapters/traces-otlp.ts");
  const { otelEndpoint: endpoint, otelHeaders: headers, otelServiceName: serviceName } = config;
  return openOtlpTraces({ endpoint, headers, serviceName, instance });
}

const listOwnAddresses = () =>
  Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address.replace(/%.*/, "")));

/** The database is there when a server has started; the bus may come later. */
async function waitForBus(bus: Bus, clock: Clock, signal: AbortSignal): Promise<boolean> {
  while (!bus.isUp() && !signal.aborted) await clock.sleep(BUS_LOOK_MS, signal);
  return !signal.aborted;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const cleanup = openCleanup();
  try {
    return await openServer(options, cleanup);
  } catch (error) {
    // Expected: any refusal to start. Whatever was opened before it is closed again.
    await cleanup.run();
    throw error;
  }
}

async function openServer(options: ServerOptions, cleanup: ReturnType<typeof openCleanup>): Promise<RunningServer> {
  const { config, log } = options;
  const stopping = new AbortController();
  const dataDir = await lockDataDir(resolve(config.dataDir));
  cleanup.add(dataDir.release);

  let databaseUrl = config.databaseUrl;
  if (databaseUrl === undefined) {
    const postgres = await startPostgres({ dataDir, log, signal: new AbortController().signal });
    cleanup.add(postgres.stop);
    databaseUrl = postgres.url;
  }
  const db = openPostgres({
    url: databaseUrl,
    maxConnections: config.databasePoolSize,
    onIdleError: (error) => log.warn("database.connection_lost", { reason: error.message }),
  });
  cleanup.add(() => db.close());
  const clock = options.clock ?? systemClock;
  // The embedded one was started just now; another may still be on its way.
  const seconds = config.databaseUrl === undefined ? 0 : config.databaseWaitSeconds;
  const applied = await awaitDatabase(() => migrate(db), { clock, log, seconds }, options.signal);
  if (applied.length > 0) log.info("database.migrated", { applied });

  const host = `${hostname()}:${dataDir.path}`;
  const instance = `${hostname()}:${process.pid}`;
  cleanup.add(() => leaveReplica(db, host, instance).catch(() => undefined));
  const shared = config.sharedDir === undefined ? undefined : resolve(config.sharedDir);
  const request = { db, directories: diskStorage, log, host, instance, sharedDir: shared, dataDir: dataDir.path };
  const storage = await shareStorage(request);

  const bus = config.redisUrl === undefined ? openMemoryBus() : openRedisBus(config.redisUrl, log);
  cleanup.add(() => bus.close());
  const installation = (await loadInstallation.one(db)).id;
  const { redisUrl } = config;
  const own = openOwnBuckets(clock);
  const buckets = redisUrl === undefined ? own : openRedisBuckets({ url: redisUrl, installation, own, clock, log });
  cleanup.add(() => buckets.close());
  const worker = join(PACKAGES, "worker/dist");
  const providers = openProviders({
    local: () =>
      openLocalProvider({
        base: join(dataDir.path, "sandboxes"),
        node: process.execPath,
        supervisor: join(worker, "supervisor.cjs"),
        worker: join(worker, "worker.mjs"),
        log,
        isUnsafe: config.unsafeNoSandbox,
        warm: { size: config.warmLocal, limits: toLimits(resolveSizes({}, toResources(options))) },
      }),
    daytona: async () =>
      openDaytona({
        // Asked for when it is opened, so that a request that names the provider is refused, and no sandbox is made to fail.
        apiKey: requireKey(config.daytonaApiKey),
        apiUrl: config.daytonaApiUrl,
        target: config.daytonaTarget,
        snapshot: config.daytonaSnapshot,
        image: config.sandboxImage,
        timeoutSeconds: config.daytonaTimeoutSeconds,
      }),
    docker: () =>
      openDocker({
        host: config.dockerHost,
        image: config.sandboxImage,
        base: join(dataDir.path, "containers"),
        warm: { size: config.warmDocker, limits: toLimits(resolveSizes({}, toResources(options))), log },
      }),
    kubernetes: () => openKubernetes(toKubernetesOptions(config)),
    remote: () => openRemote({ url: config.remoteUrl, token: config.remoteToken, base: join(dataDir.path, "remote") }),
  });
  cleanup.add(() => providers.close());
  const gate = openSandboxGate(() => route);
  cleanup.add(() => gate.closeAll());
  const agentsDir = config.agentsDir === undefined ? join(storage, "agents") : resolve(config.agentsDir);
  const agents = openNpmPackages({ directory: agentsDir, env: process.env, log });
  cleanup.add(() => agents.close());
  const proxy = openEgressProxy(options.resolver ?? systemResolver);

  const tail = await openTail({ db, bus, clock, log, signal: stopping.signal });
  cleanup.add(async () => {
    stopping.abort();
    await tail.done;
  });
  const repositories = join(storage, "git");
  const objects = openBareRepositories(repositories);
  const spine = { db, bus, clock, ids: randomIds, tail, fault: options.fault ?? (() => undefined) };
  const vault = await openVault(storage, config.secretKey);
  const rule = { toFacts: toCassetteFacts, pick: pickRecorded };
  const isRecording = config.cassette !== undefined && config.cassetteMode === "record";
  const overHttp = openHttpVendors({ silenceMs: config.modelSilenceSeconds * 1_000 });
  const vendor = isRecording ? openRecorder(config.cassette, overHttp, rule) : overHttp;
  const cassettes = openCassettes(join(PACKAGES, "server/cassettes"), rule);
  const models = openModels({ db, clock, config, vault, vendor, cassettes });
  cleanup.add(async () => {
    await models.settled();
    await vendor.close();
  });
  await ensureSeedPrices(db);
  const traces = await loadTraces(config, instance);
  cleanup.add(async () => traces?.close());
  let url = "";
  let route: RequestListener = () => undefined;
  const loops = new Map<string, { wake: () => void; done: Promise<void> }>();
  const deps: Deps = {
    ...spine,
    config,
    log,
    providers,
    gate,
    agents,
    workerBundle: join(worker, "worker.mjs"),
    egress: {
      proxy,
      registries: openRegistries({ env: process.env, home: homedir() }),
      settings: parseEgressSettings(config),
      own: () => ({ addresses: listOwnAddresses(), port: Number(new URL(url).port) }),
      flushes: new Map(),
    },
    git: {
      objects,
      hosts: {
        builtin: openBuiltinHost(repositories, objects),
        github: openGitHub(
          { apiUrl: config.githubApiUrl, webUrl: config.githubUrl, token: config.githubToken, root: repositories },
          objects,
        ),
      },
    },
    repositories: openGitMirrors(join(dataDir.path, "mirrors")),
    remotes: openRemoteRefs({
      resolver: options.resolver ?? systemResolver,
      judge: openRemoteJudge(parseEgressSettings(config), () => deps.egress.own()),
    }),
    checkpoints: openGitCheckpoints(join(dataDir.path, "checkpoints")),
    unopened: new Map(),
    resources: toResources(options),
    installation,
    host,
    instance,
    adopted: new Set(),
    making: new Map(),
    webhooks: openWebhookPost({
      resolver: options.resolver ?? systemResolver,
      judge: openWebhookJudge(config, () => deps.egress.own()),
      now: () => clock.now(),
    }),
    conversations:
      config.agentServerUrl === undefined
        ? undefined
        : openConversationSource(config.agentServerUrl, config.agentServerKey),
    traces,
    judge: await loadJudge(config, log),
    passes: new Map(),
    startedMs: clock.now().getTime(),
    wake: (name) => loops.get(name)?.wake(),
    blobs: openDiskBlobs(join(storage, "blobs")),
    room: await openDiskRoom([dataDir.path, storage], config.keepFreeMb * 1024 ** 2, log),
    buckets,
    vault,
    models,
    credentials: openCredentials({ db, clock, tail }),
    ingest: openIngest(spine),
    address: () => config.publicUrl ?? url,
  };
  cleanup.add(async () => {
    await proxy.closeAll();
    for (const flush of deps.egress.flushes.values()) await flush();
  });
  await ensureDefaultProject(deps);
  const ownerId = await ensureOwner(deps);
  if (config.adminToken !== undefined && (await ensureAdmin(deps, "admin", config.adminToken)) === undefined) {
    log.warn("admin_token.revoked", { meaning: "DROVER_ADMIN_TOKEN was revoked and stays so; set another one" });
  }
  const cliToken = await keepCliToken(deps, dataDir.path);

  const site = await mountSite(deps, { webRoot: join(PACKAGES, "web/dist"), signal: stopping.signal });
  cleanup.add(() => site.close());
  route = site.app.routing;
  await site.app.listen({ host: config.host, port: config.port }).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === "EADDRINUSE" ? "another program listens there; set DROVER_PORT" : cause.message;
    throw new AppError("config.invalid", `cannot listen on ${config.host}:${config.port}: ${reason}`, { cause });
  });
  const { port } = site.app.server.address() as AddressInfo;
  url = toOwnAddress(config.host, port);

  const isEverywhere = config.host === "0.0.0.0" || config.host === "::";
  await saveReplica(db, host, config.peerUrl ?? (isEverywhere ? `http://${hostname()}:${port}` : url), instance);
  await releaseLeases(db, deps.host);
  await releaseDeliveries(db, deps.host);
  const passes = LOOPS.filter(({ isOrchestration }) => isOrchestration !== true || config.orchestratorEnabled).map(
    (row) => ({ ...row, everyMs: typeof row.everyMs === "number" ? row.everyMs : row.everyMs(config) }),
  );
  // Expected: the database is away. The log of the process has it then.
  const tell = (...told: Parameters<typeof tellMonitoring> extends [unknown, ...infer Rest] ? Rest : never) =>
    tellMonitoring(deps, ...told).catch((error: unknown) => log.warn("monitoring.untold", { reason: String(error) }));
  for (const [index, { name, everyMs, pass, byTurns, isMonitoring }] of passes.entries()) {
    const hasTurn = async () =>
      byTurns !== true || (await takeTurn.maybe(db, name, host, (everyMs / 1_000) * TURN_SHARE)) !== undefined;
    const onError = (error: unknown) => {
      log.error("loop.failed", { loop: name, reason: String(error) });
      // Once per spell: what is told every few seconds is read by nobody.
      if (isMonitoring === true && deps.passes.get(name)?.failedInRow === 1)
        void tell("monitoring.cycle.failed", { loop: name, error: String(error) });
    };
    loops.set(
      name,
      startLoop({
        everyMs,
        // Out of step with each other: all of them at once would be a moment in every second in which events wait.
        firstMs: everyMs > EVERY_SECOND_MS ? everyMs : (everyMs * (index + 1)) / passes.length,
        pass: recordPass(deps.passes, clock, { name, everyMs }, async (signal) =>
          (await hasTurn()) ? pass(deps, signal) : undefined,
        ),
        clock,
        signal: stopping.signal,
        onError,
      }),
    );
  }
  tail.onAdvance((events) => {
    noteCheckpoints(deps.unopened, events);
    const types = [...new Set(events.map(({ storedType }) => storedType))];
    for (const { name, wakeOn } of LOOPS) {
      if (wakeOn?.some((prefix) => types.some((type) => type.startsWith(prefix))) === true) loops.get(name)?.wake();
    }
  });
  cleanup.add(async () => {
    stopping.abort();
    await Promise.all([...loops.values()].map((loop) => loop.done));
    await Promise.all([...deps.making.values()].map((making) => making.done));
    await tell("monitoring.stopped", { host });
  });
  const watching = passes.filter(({ isMonitoring }) => isMonitoring === true);
  const intervals = Object.fromEntries(watching.map(({ name, everyMs }) => [name, everyMs / 1_000]));
  await tell("monitoring.started", { host, interval_seconds: intervals });

  const done = Promise.withResolvers<void>();
  let stopped: Promise<void> | undefined;
  const leave = async () => {
    if (config.drainSeconds > 0) await site.drain(config.drainSeconds * 1_000);
    await cleanup.run();
  };
  const stop = () => (stopped ??= leave().finally(done.resolve));
  options.signal.addEventListener("abort", () => void stop(), { once: true });
  const code = await createLoginCode(deps, ownerId);
  const ready = waitForBus(bus, clock, stopping.signal);
  return { url, loginUrl: `${deps.address()}/login#${code}`, cliToken, deps, ready, stop, done: done.promise };
}
