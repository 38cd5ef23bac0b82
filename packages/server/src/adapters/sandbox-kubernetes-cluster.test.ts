/** What a cluster is asked for, and what becomes of its answers: the official client against an API server on this machine. */
import { createServer } from "node:net";
import type { V1NetworkPolicy, V1Pod } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { collect, exited, LIMITS, refusal, unique, untilFact } from "../../../testkit/src/conformance/sandbox/given.ts";
import { startKubernetes, type KubernetesEmulator } from "../../../testkit/src/kubernetes/api-server.ts";
import type { SandboxProvider, SandboxRef, SandboxSpec } from "../ports/sandbox-provider.ts";
import { openKubernetes, type KubernetesOptions } from "./sandbox-kubernetes.ts";

const IMAGE = "registry.example.org/drover-sandbox:1";
const SERVER = "drover/app.kubernetes.io/name=drover";
const { signal } = new AbortController();

const open = ({ configFile, namespace }: KubernetesEmulator, more: Partial<KubernetesOptions> = {}) =>
  openKubernetes({
    configFile,
    context: undefined,
    namespace,
    image: IMAGE,
    hasReadOnlyRoot: true,
    server: SERVER,
    timeoutSeconds: 30,
    ...more,
  });

const toSpec = (more: Partial<SandboxSpec> = {}): SandboxSpec => {
  const key = unique("kubernetes");
  return { key, labels: { "drover.sandbox": key, "drover.generation": "3" }, limits: LIMITS, env: {}, ...more };
};

describe("in a cluster", () => {
  let emulator: KubernetesEmulator;
  let provider: SandboxProvider;

  beforeAll(async () => {
    emulator = await startKubernetes();
    provider = await open(emulator);
  });
  afterEach(() => {
    expect(emulator.complaints).toEqual([]);
  });
  afterAll(() => emulator[Symbol.asyncDispose]());

  const make = async (spec = toSpec(), by = provider): Promise<SandboxRef> => {
    const ref = await by.ensure(spec, signal);
    onTestFinished(() => provider.destroy(ref, signal));
    return ref;
  };
  const shared = toSpec();
  const shell = (ref: SandboxRef, script: string, by = provider) =>
    collect(by.exec(ref, { argv: ["sh", "-c", script] }, signal));
  const creations = (what: string) =>
    emulator.requests.filter(({ method, path }) => method === "POST" && path.endsWith(what));
  const lastPod = () => creations("/pods").at(-1)?.body as V1Pod;
  const lastPolicy = () => creations("/networkpolicies").at(-1)?.body as V1NetworkPolicy;

  test("a pod is nobody, with requests that are limits, and with nothing of the cluster in it", async () => {
    const more = { nodeSelector: "pool=agents", tolerations: "only=agents:NoSchedule,spot:NoExecute" };
    const by = await open(emulator, { ...more, imagePullSecrets: "one,two", runtimeClass: "gvisor" });
    const limits = { cpus: 1.5, memoryBytes: 3 * 1024 ** 3, diskBytes: 5 * 1024 ** 3, processes: 10 };
    const spec = toSpec({ limits, env: { WORD: "said" }, image: "registry.example.org/other:2" });
    await make(spec, by);
    const quantities = { cpu: "1500m", memory: "3072Mi", "ephemeral-storage": "5120Mi" };
    const { metadata, spec: pod } = lastPod();
    expect(metadata).toMatchObject({
      name: expect.stringMatching(/^drover-[0-9a-f]{32}$/),
      labels: {
        "drover.dev/drover.sandbox": spec.key,
        "drover.dev/drover.generation": "3",
        "app.kubernetes.io/managed-by": "drover",
      },
    });
    expect(pod).toEqual({
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      imagePullSecrets: [{ name: "one" }, { name: "two" }],
      nodeSelector: { pool: "agents" },
      tolerations: [
        { key: "only", operator: "Equal", value: "agents", effect: "NoSchedule" },
        { key: "spot", operator: "Exists", effect: "NoExecute" },
      ],
      runtimeClassName: "gvisor",
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        expect.objectContaining({
          image: "registry.example.org/other:2",
          env: [
            { name: "HOME", value: "/home/agent" },
            { name: "WORD", value: "said" },
          ],
          resources: { requests: quantities, limits: quantities },
          securityContext: {
            allowPrivilegeEscalation: false,
            privileged: false,
            capabilities: { drop: ["ALL"] },
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
          },
        }),
      ],
      volumes: ["workspace", "home", "tmp"].map((name) => ({ name, emptyDir: { sizeLimit: "5120Mi" } })),
    });
  });

  test.for([
    ["none", []],
    ["allowlist", [{ to: [{ ipBlock: { cidr: "203.0.113.0/24" } }] }]],
    ["open", [{ to: [expect.objectContaining({ ipBlock: expect.anything() }), expect.anything()] }]],
  ] as const)("network %s: nothing comes in, and out go the server, DNS and no more", async ([network, more]) => {
    await make(toSpec({ network }), await open(emulator, { allowed: "203.0.113.0/24" }));
    const policy = lastPolicy();
    const asked = emulator.requests.map(({ method, path }) => `${method} ${path.split("/").at(-1)}`);
    expect(asked.lastIndexOf("POST networkpolicies")).toBeLessThan(asked.lastIndexOf("POST pods"));
    expect(policy.spec).toEqual({
      podSelector: { matchLabels: { "drover.dev/name": lastPod().metadata?.name } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [],
      egress: [
        expect.objectContaining({
          ports: [
            { protocol: "UDP", port: 53 },
            { protocol: "TCP", port: 53 },
          ],
        }),
        {
          to: [
            {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "drover" } },
              podSelector: { matchLabels: { "app.kubernetes.io/name": "drover" } },
            },
          ],
        },
        ...more,
      ],
    });
    expect(lastPod().metadata?.labels).toMatchObject(policy.spec?.podSelector?.matchLabels ?? {});
    for (const { ipBlock } of policy.spec?.egress?.at(-1)?.to ?? [])
      if (network === "open" && ipBlock?.cidr === "0.0.0.0/0")
        expect(ipBlock.except).toEqual(expect.arrayContaining(["10.0.0.0/8", "169.254.0.0/16", "127.0.0.0/8"]));
  });

  test("an empty list of allowed addresses is no rule, and so is a server that is not named", async () => {
    await make(toSpec({ network: "allowlist" }), await open(emulator, { server: undefined }));
    expect(lastPolicy().spec?.egress).toHaveLength(1);
    expect(lastPolicy().spec?.egress?.every(({ to }) => to !== undefined && to.length > 0)).toBe(true);
  });

  test("neither command nor variables nor stdin stand in an address", async () => {
    const ref = await provider.ensure(shared, signal);
    const secret = unique("secret");
    const command = { argv: ["sh", "-c", `: ${secret}`] as const, env: { TOKEN: secret }, stdin: Buffer.from(secret) };
    await collect(provider.exec(ref, command, signal));
    await provider.startDetached(ref, command, signal);
    await provider.upload(ref, "/tmp/file", Buffer.from(secret), {}, signal);
    const addresses = emulator.requests.map(({ path, query }) => `${path}?${query.toString()}`);
    expect(addresses.filter((address) => address.includes(secret))).toEqual([]);
    expect(Math.max(...addresses.map((address) => address.length))).toBeLessThan(2_000);
    const listed = await shell(ref, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
    expect(listed.stdout.toString()).not.toContain(`TOKEN=${secret}`);
  });

  test("values arrive as they are, whatever the cluster would make of them", async () => {
    const value = "$HOME $(HOME) $$ $$(HOME) `id` $";
    const ref = await make(toSpec({ env: { VALUE: value } }));
    expect((await shell(ref, 'printf %s "$VALUE"')).stdout.toString()).toBe(value);
  });

  test("labels that the cluster would not take are found all the same, and are told as they were", async () => {
    const long = "x".repeat(200);
    const labels = { "a name with spaces": "a value, with = and /", long, other: `${long}y` };
    const ref = await make(toSpec({ labels }));
    expect(await provider.list({ long }, signal)).toEqual([ref]);
    expect(await provider.list({ "a name with spaces": "a value, with = and /" }, signal)).toEqual([ref]);
    expect(await provider.list({ long: `${long}y` }, signal)).toEqual([]);
  });

  test("the image's files cannot be changed, the sandbox's own can", async () => {
    const ref = await provider.ensure(shared, signal);
    expect((await shell(ref, "touch /planted")).exit.code).not.toBe(0);
    expect((await shell(ref, "touch /workspace/a /home/agent/a /tmp/a")).exit).toEqual(exited(0));
  });

  test.for([
    [400, "sandbox.rejected"],
    [401, "sandbox.rejected"],
    [403, "sandbox.rejected"],
    [422, "sandbox.rejected"],
    [409, "sandbox.unavailable"],
    [500, "sandbox.unavailable"],
    [503, "sandbox.unavailable"],
    ["reset", "sandbox.unavailable"],
  ] as const)("an answer of %s to a list is %s", async ([status, code]) => {
    emulator.faults.next({ method: "GET", path: /\/pods$/, status });
    await expect(provider.list({}, signal)).rejects.toEqual(refusal(code));
  });

  test.for([
    [401, "sandbox.rejected"],
    [403, "sandbox.rejected"],
    [400, "sandbox.unavailable"],
    [500, "sandbox.unavailable"],
    ["reset", "sandbox.unavailable"],
  ] as const)("an answer of %s to a command is %s", async ([status, code]) => {
    const ref = await provider.ensure(shared, signal);
    emulator.faults.next({ method: "WS", path: /\/exec$/, status });
    await expect(shell(ref, "true")).rejects.toEqual(refusal(code));
  });

  test("too many requests may be tried again, when the cluster says", async () => {
    emulator.faults.next({ method: "GET", path: /\/pods$/, status: 429, headers: { "retry-after": "7" } });
    const refused: unknown = await provider.list({}, signal).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "sandbox.unavailable", retryAfterSeconds: 7 });
  });

  test("a slow start is waited for, also by another replica, and can be given up", async () => {
    const spec = toSpec();
    const release = emulator.faults.holdStart();
    const first = make(spec);
    await untilFact("it is being made", async () => {
      const [found] = await provider.list(spec.labels, signal);
      return found !== undefined && (await provider.info(found, signal)) !== undefined;
    });
    const second = (await open(emulator)).ensure(spec, signal);
    const [made] = await provider.list(spec.labels, signal);
    expect(await provider.info(made!, signal)).toMatchObject({ state: "stopped", reason: "ContainerCreating" });
    const stop = new AbortController();
    const third = provider.ensure(spec, stop.signal);
    stop.abort();
    await expect(third).rejects.toThrow("aborted");
    release();
    expect(await second).toEqual(await first);
  });

  test("a pod that finds no node may be tried again, with the scheduler's words", async () => {
    const spec = toSpec();
    emulator.faults.unschedulable("0/3 nodes are available: 3 Insufficient memory.");
    const hasty = await open(emulator, { timeoutSeconds: 0.5 });
    const refused: unknown = await hasty.ensure(spec, signal).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "sandbox.unavailable", message: expect.stringContaining("3 Insufficient") });
    const [left] = await provider.list(spec.labels, signal);
    await provider.destroy(left!, signal);
  });

  test("an image that is not there is refused with the cluster's words, and nothing is left", async () => {
    const spec = toSpec({ image: "registry.example.org/not-there:1" });
    const refused: unknown = await provider.ensure(spec, signal).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "sandbox.rejected", message: expect.stringContaining("pull access denied") });
    expect(await provider.list(spec.labels, signal)).toEqual([]);
  });

  test("a namespace that does not exist is refused, with what to do", async () => {
    const by = await open(emulator, { namespace: "elsewhere" });
    await expect(by.ensure(toSpec(), signal)).rejects.toThrow("kubectl create namespace elsewhere");
  });

  test("an end for memory is told, and the next who ensures it has a new one", async () => {
    const spec = toSpec();
    const ref = await make(spec);
    emulator.pods.killForMemory(ref.id);
    expect(await provider.info(ref, signal)).toMatchObject({
      state: "stopped",
      isOomKilled: true,
      reason: "OOMKilled (code 137)",
    });
    await expect(shell(ref, "true")).rejects.toEqual(refusal("sandbox.unavailable"));
    expect(await provider.ensure(spec, signal)).toEqual(ref);
    expect(await provider.info(ref, signal)).toMatchObject({ state: "running", isOomKilled: false });
  });

  test("who enforces a limit is told, and the network is nobody's without its policy", async () => {
    const ref = await make();
    const by = { memory: "provider", cpu: "provider", disk: "provider", processes: "none", isolation: "provider" };
    expect(await provider.info(ref, signal)).toMatchObject({
      limits: LIMITS,
      enforcedBy: { ...by, network: "provider" },
    });
    emulator.faults.next({ method: "GET", path: /\/networkpolicies\//, status: 404 });
    expect(await provider.info(ref, signal)).toMatchObject({ enforcedBy: { ...by, network: "none" } });
  });

  test("destroy waits until the node confirms, and says so when it does not", async () => {
    const ref = await provider.ensure(toSpec(), signal);
    const release = emulator.faults.holdRemoval();
    const hasty = await open(emulator, { timeoutSeconds: 0.5 });
    await expect(hasty.destroy(ref, signal)).rejects.toEqual(refusal("sandbox.unavailable"));
    expect(await provider.info(ref, signal)).toMatchObject({ state: "stopped", reason: "It is being removed" });
    release();
    await provider.destroy(ref, signal);
    expect(await provider.info(ref, signal)).toBeUndefined();
    const deletions = emulator.requests.filter(({ method, path }) => method === "DELETE" && path.endsWith(ref.id));
    expect(deletions.map(({ path }) => path.split("/").at(-2))).toEqual(["pods", "networkpolicies"]);
    expect(deletions[0]?.body).toMatchObject({ gracePeriodSeconds: 1, preconditions: { uid: expect.any(String) } });
  });

  test("a policy whose pod is gone is found and can be removed", async () => {
    const spec = toSpec();
    const ref = await provider.ensure(spec, signal);
    emulator.faults.next({ method: "DELETE", path: /\/networkpolicies\//, status: "reset" });
    await expect(provider.destroy(ref, signal)).rejects.toEqual(refusal("sandbox.unavailable"));
    expect(await provider.info(ref, signal)).toBeUndefined();
    expect(await provider.list(spec.labels, signal)).toEqual([ref]);
    await provider.destroy(ref, signal);
    expect(await provider.list(spec.labels, signal)).toEqual([]);
  });

  test("a pod of the same name that is not ours is left alone", async () => {
    const spec = toSpec();
    const ref = await provider.ensure(spec, signal);
    const pod = emulator.pods.find(ref.id);
    const annotations = { ...pod?.metadata?.annotations };
    Object.assign(pod?.metadata ?? {}, { annotations: {} });
    await expect(provider.ensure(spec, signal)).rejects.toThrow("not ours");
    expect(await provider.list(spec.labels, signal)).toEqual([]);
    Object.assign(pod?.metadata ?? {}, { annotations });
    await provider.destroy(ref, signal);
  });

  test("a command whose connection breaks is over, and its processes are too", async () => {
    const ref = await provider.ensure(shared, signal);
    emulator.faults.cutStream(1_000);
    const broken = shell(ref, "echo $$ > /tmp/broken; seq 1000; exec sleep 1000");
    await expect(broken).rejects.toEqual(refusal("sandbox.unavailable"));
    const isGone = async () => (await shell(ref, 'kill -0 "$(cat /tmp/broken)"')).exit.code !== 0;
    await untilFact("it is gone", isGone);
  });

  test("a port of the sandbox's loopback can be reached, and one where nothing listens cannot", async () => {
    const ref = await provider.ensure(shared, signal);
    // The emulator's pods share the loopback of this machine.
    const echo = createServer((socket) => socket.pipe(socket));
    await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void echo.close());
    const { port } = echo.address() as { port: number };
    const stream = await provider.connect!(ref, port, signal);
    stream.write("there and back");
    const [first] = await stream.take(1).toArray();
    expect(String(first)).toBe("there and back");
    stream.destroy();
    await expect(provider.connect!(ref, 1, signal)).rejects.toEqual(refusal("port.not_answering"));
  });
});

test("without a kubeconfig or without the library the provider is unavailable, and says what to do", async () => {
  await using emulator = await startKubernetes();
  await expect(open(emulator, { configFile: undefined })).rejects.toEqual(refusal("provider.unavailable"));
  await expect(open(emulator, { configFile: undefined })).rejects.toThrow("set KUBERNETES_CONFIG");
  await expect(open(emulator, { configFile: "/not/there" })).rejects.toEqual(refusal("provider.unavailable"));
  await expect(open(emulator, { context: "no-such" })).rejects.toThrow("KUBERNETES_CONTEXT");
  await expect(open(emulator, { server: "10.0.0.0/99" })).rejects.toThrow("KUBERNETES_SERVER");
  await expect(open(emulator, { tolerations: "a" })).rejects.toThrow("KUBERNETES_TOLERATIONS");
  const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  const bare = open(emulator, { loadLibrary: () => Promise.reject(missing) });
  await expect(bare).rejects.toThrow("npm install @kubernetes/client-node");
});

test("an older server, whose protocol cannot close a stream, serves commands with stdin all the same", async () => {
  await using emulator = await startKubernetes({ protocol: "v4.channel.k8s.io" });
  const provider = await open(emulator);
  const ref = await provider.ensure(toSpec(), signal);
  const outcome = await collect(provider.exec(ref, { argv: ["cat"], stdin: Buffer.from("all of it") }, signal));
  expect([outcome.stdout.toString(), outcome.exit]).toEqual(["all of it", exited(0)]);
  expect(emulator.complaints).toEqual([]);
});
