/** Sandboxes as pods of a Kubernetes cluster. What it does and does not keep of the port's promises: docs/KUBERNETES.md. */
import { AppError, type Config } from "@drover/contract";
import type { SandboxProvider } from "../ports/sandbox-provider.ts";
import { openClient, type ClientOptions } from "./kubernetes/client.ts";
import { connectPort } from "./kubernetes/connect.ts";
import { listRefs, loadInfo } from "./kubernetes/describe.ts";
import { destroyPod, ensurePod, type EnsureOptions } from "./kubernetes/ensure-pod.ts";
import { downloadFile, listDirectory, uploadFile } from "./kubernetes/files.ts";
import { parseNames, parsePairs, parsePeers, parseTolerations } from "./kubernetes/placement.ts";
import { runCommand, startDetached } from "./kubernetes/run-command.ts";
import { openTerminal } from "./kubernetes/terminal.ts";

/** As the configuration has them: lists are words with commas between them. */
export interface KubernetesOptions extends ClientOptions {
  readonly image: string;
  readonly imagePullSecrets?: string | undefined;
  readonly nodeSelector?: string | undefined;
  readonly tolerations?: string | undefined;
  readonly runtimeClass?: string | undefined;
  readonly hasReadOnlyRoot: boolean;
  readonly server?: string | undefined;
  readonly allowed?: string | undefined;
  readonly timeoutSeconds: number;
}

export const toKubernetesOptions = (config: Config): KubernetesOptions => ({
  configFile: config.kubernetesConfig,
  context: config.kubernetesContext,
  namespace: config.kubernetesNamespace,
  image: config.sandboxImage,
  imagePullSecrets: config.kubernetesImagePullSecrets,
  nodeSelector: config.kubernetesNodeSelector,
  tolerations: config.kubernetesTolerations,
  runtimeClass: config.kubernetesRuntimeClass,
  hasReadOnlyRoot: config.kubernetesReadOnlyRoot,
  server: config.kubernetesServer,
  allowed: config.kubernetesAllowlist,
  timeoutSeconds: config.kubernetesTimeoutSeconds,
});

const toEnsureOptions = (options: KubernetesOptions): EnsureOptions => ({
  image: options.image,
  imagePullSecrets: parseNames(options.imagePullSecrets),
  nodeSelector: parsePairs("KUBERNETES_NODE_SELECTOR", options.nodeSelector),
  tolerations: parseTolerations("KUBERNETES_TOLERATIONS", options.tolerations),
  runtimeClass: options.runtimeClass,
  hasReadOnlyRoot: options.hasReadOnlyRoot,
  server: parsePeers("KUBERNETES_SERVER", options.server),
  allowed: parsePeers("KUBERNETES_ALLOWLIST", options.allowed),
  timeoutSeconds: options.timeoutSeconds,
});

const refuse = async (what: string): Promise<never> => {
  throw new AppError("sandbox.rejected", `A pod cannot be ${what}`);
};

export async function openKubernetes(options: KubernetesOptions): Promise<SandboxProvider> {
  const { timeoutSeconds } = options;
  const wanted = toEnsureOptions(options);
  const client = await openClient(options);

  return {
    name: "kubernetes",
    capabilities: {
      pause: false,
      snapshot: false,
      terminal: true,
      socketDirectory: false,
      egressPolicy: false,
      mounts: false,
      survivesServer: true,
    },
    ensure: async (spec, signal) => {
      if (spec.snapshot !== undefined) await refuse("made from a snapshot");
      const id = await ensurePod(client, spec, wanted, signal);
      return { key: spec.key, id, labels: spec.labels };
    },
    exec: ({ id }, command, signal) => runCommand(client, id, command, signal),
    openTerminal: ({ id }, size, signal) => openTerminal(client, id, size, signal),
    upload: ({ id }, path, bytes, { mode }, signal) => uploadFile(client, id, path, { bytes, mode }, signal),
    download: ({ id }, path, limitBytes, signal) => downloadFile(client, id, path, limitBytes, signal),
    listFiles: ({ id }, path, signal) => listDirectory(client, id, path, signal),
    startDetached: ({ id }, command, signal) => startDetached(client, id, command, signal),
    connect: ({ id }, port, signal) => connectPort(client, id, port, signal),
    socketDirectory: () => undefined,
    info: ({ id }, signal) => loadInfo(client, id, signal),
    list: (labels, signal) => listRefs(client, labels, signal),
    pause: () => refuse("paused"),
    resume: () => refuse("paused, so it cannot be resumed"),
    snapshot: () => refuse("kept as a snapshot"),
    destroy: ({ id }, signal) => destroyPod(client, id, timeoutSeconds, signal),
    close: () => Promise.resolve(),
  };
}
