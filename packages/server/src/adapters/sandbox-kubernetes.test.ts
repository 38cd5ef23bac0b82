/** Sandboxes as pods: the official client against an API server on this machine that runs real processes and checks every body.
 *  Broken, and seen here: an empty message of the status channel taken for the end of a command. */
import { expect } from "vitest";
import { describeSandboxProvider } from "../../../testkit/src/conformance/sandbox-provider.ts";
import { startKubernetes, type KubernetesEmulator } from "../../../testkit/src/kubernetes/api-server.ts";
import { openKubernetes, type KubernetesOptions } from "./sandbox-kubernetes.ts";

const IMAGE = "registry.example.org/drover-sandbox:1";

const open = ({ configFile, namespace }: KubernetesEmulator, more: Partial<KubernetesOptions> = {}) =>
  openKubernetes({
    configFile,
    context: undefined,
    namespace,
    image: IMAGE,
    hasReadOnlyRoot: true,
    server: "10.1.2.0/24",
    timeoutSeconds: 30,
    ...more,
  });

describeSandboxProvider({
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
  connects: true,
  open: async () => {
    const emulator = await startKubernetes();
    const provider = await open(emulator);
    return {
      provider,
      reopen: () => open(emulator),
      close: async () => {
        await provider.close();
        await emulator[Symbol.asyncDispose]();
        expect(emulator.complaints).toEqual([]);
      },
    };
  },
  deviations: [
    {
      promise: "a memory bomb is killed, it is told by a counter, and the sandbox goes on",
      reason: "the emulator limits no memory; a cluster does",
    },
    {
      promise: "a fork bomb stops at the limit, a timeout ends it, and the sandbox answers",
      reason: "a pod has no limit of processes: the node's setting holds",
    },
    {
      promise: "nothing but loopback is there when the network is enforced",
      reason: "a pod has a device of its own, and a policy of the cluster behind it",
    },
  ],
});
