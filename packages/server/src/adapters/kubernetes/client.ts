/** The cluster's API through its official client, imported when it is first needed: an installation may do without it. */
import { AppError } from "@drover/contract";
import type * as KubernetesClient from "@kubernetes/client-node";
import { isMissingModule, toAppError } from "./failure.ts";

export type Library = typeof KubernetesClient;

export interface ClientOptions {
  /** A kubeconfig file, or `in-cluster` for the service account of the pod this server runs in. Never what `kubectl` would use: a
   *  server must not speak to a cluster that nobody named to it. */
  readonly configFile: string | undefined;
  readonly context: string | undefined;
  readonly namespace: string;
  /** How the library comes in; tests replace it. */
  readonly loadLibrary?: () => Promise<Library>;
}

export interface Client {
  readonly library: Library;
  readonly config: KubernetesClient.KubeConfig;
  readonly namespace: string;
  readonly pods: KubernetesClient.CoreV1Api;
  readonly policies: KubernetesClient.NetworkingV1Api;
  /** One call, ended by its signal, its errors translated. */
  call<Result>(
    signal: AbortSignal,
    work: (options: KubernetesClient.ConfigurationOptions) => Promise<Result>,
  ): Promise<Result>;
  /** The same, and undefined where the cluster has no such object. */
  find<Result>(
    signal: AbortSignal,
    work: (options: KubernetesClient.ConfigurationOptions) => Promise<Result>,
  ): Promise<Result | undefined>;
}

const IN_CLUSTER = "in-cluster";

async function loadLibrary(load: () => Promise<Library>): Promise<Library> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissingModule(cause)) throw cause;
    const text = "Kubernetes' client is not installed: npm install @kubernetes/client-node";
    throw new AppError("provider.unavailable", text, { cause });
  }
}

function loadConfig(library: Library, file: string, context: string | undefined): KubernetesClient.KubeConfig {
  const config = new library.KubeConfig();
  try {
    if (file === IN_CLUSTER) config.loadFromCluster();
    else config.loadFromFile(file);
    if (context !== undefined) config.setCurrentContext(context);
  } catch (cause) {
    throw new AppError("provider.unavailable", "KUBERNETES_CONFIG names a kubeconfig that cannot be read", { cause });
  }
  if (config.getCurrentCluster() === null)
    throw new AppError("provider.unavailable", "The kubeconfig names no such cluster: set KUBERNETES_CONTEXT");
  return config;
}

/** The library knows middleware of its own kind only, so one of its own carries the signal. */
function withSignal(library: Library, signal: AbortSignal): KubernetesClient.ConfigurationOptions {
  const own = library.setHeaderMiddleware("accept", "application/json");
  const pre: KubernetesClient.ObservableMiddleware["pre"] = (request) => {
    request.setSignal(signal);
    return own.pre(request);
  };
  return { middleware: [{ ...own, pre }], middlewareMergeStrategy: "append" };
}

export async function openClient(options: ClientOptions): Promise<Client> {
  const { configFile, context } = options;
  if (configFile === undefined)
    throw new AppError(
      "provider.unavailable",
      "Kubernetes needs a cluster: set KUBERNETES_CONFIG to a kubeconfig, or to in-cluster",
    );
  const library = await loadLibrary(options.loadLibrary ?? (() => import("@kubernetes/client-node")));
  const config = loadConfig(library, configFile, context);
  const call: Client["call"] = async (signal, work) => {
    signal.throwIfAborted();
    try {
      return await work(withSignal(library, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw toAppError(library, error);
    }
  };
  return {
    library,
    config,
    namespace: options.namespace,
    pods: config.makeApiClient(library.CoreV1Api),
    policies: config.makeApiClient(library.NetworkingV1Api),
    call,
    find: (signal, work) =>
      call(signal, (given) =>
        work(given).catch((error: unknown) => {
          if (error instanceof library.ApiException && error.code === 404) return undefined;
          throw error;
        }),
      ),
  };
}
