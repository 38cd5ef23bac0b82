/** The pod of a sandbox: one container that waits, as nobody, with limits, and with nothing of the cluster in it. */
import type { V1Pod, V1Toleration } from "@kubernetes/client-node";
import type { SandboxLimits, SandboxSpec } from "../../ports/sandbox-provider.ts";
import { NAME_LABEL, OURS, PROCESSES_ANNOTATION, toAnnotations, toClusterLabels, toName } from "./names.ts";

export interface PodOptions {
  readonly image: string;
  readonly imagePullSecrets: readonly string[];
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly V1Toleration[];
  /** A stronger wall than the container's, such as gVisor or Kata, where the cluster has one. */
  readonly runtimeClass: string | undefined;
  readonly hasReadOnlyRoot: boolean;
}

export const CONTAINER = "sandbox";
export const WORKSPACE = "/workspace";
const HOME = "/home/agent";
const USER = 1000;
const MIB = 1024 * 1024;
/** Its first process collects what others leave behind, and ends at once when it is told to. */
const WAIT = 'trap "exit 0" TERM; while :; do sleep 86400 & wait $!; done';
/** What is written there counts against the sandbox's disk: each volume may be as large as all of it, their sum may not. */
const VOLUMES = { workspace: WORKSPACE, home: HOME, tmp: "/tmp" } as const;

/** In the cluster's values `$(NAME)` is another variable and `$$` a dollar. */
const toValue = (text: string) => text.replaceAll("$", "$$$$");

const toQuantities = (limits: SandboxLimits) => ({
  memory: `${Math.ceil(limits.memoryBytes / MIB)}Mi`,
  cpu: `${Math.ceil(limits.cpus * 1_000)}m`,
  "ephemeral-storage": `${Math.ceil(limits.diskBytes / MIB)}Mi`,
});

const SUFFIXES: Readonly<Record<string, number>> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: MIB,
  Gi: 1024 * MIB,
  Ti: 1024 * 1024 * MIB,
};

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ as far as clusters answer with it; NaN otherwise. */
export function parseQuantity(text: string | undefined): number {
  const [, digits = "", suffix = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text ?? "") ?? [];
  const factor = SUFFIXES[suffix];
  return digits === "" || factor === undefined ? Number.NaN : Number(digits) * factor;
}

export function toPod(spec: SandboxSpec, namespace: string, options: PodOptions): V1Pod {
  const name = toName(spec.key);
  const quantities = toQuantities(spec.limits);
  const variables = { HOME, ...spec.env };
  const { imagePullSecrets, nodeSelector, tolerations, runtimeClass } = options;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: { ...toClusterLabels(spec.labels), ...OURS, [NAME_LABEL]: name },
      annotations: {
        ...toAnnotations(spec.key, spec.labels),
        [PROCESSES_ANNOTATION]: String(spec.limits.processes),
      },
    },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: "RuntimeDefault" },
      },
      ...(imagePullSecrets.length > 0 && { imagePullSecrets: imagePullSecrets.map((secret) => ({ name: secret })) }),
      ...(Object.keys(nodeSelector).length > 0 && { nodeSelector: { ...nodeSelector } }),
      ...(tolerations.length > 0 && { tolerations: [...tolerations] }),
      ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
      containers: [
        {
          name: CONTAINER,
          image: spec.image ?? options.image,
          command: ["sh", "-c", WAIT],
          workingDir: WORKSPACE,
          env: Object.entries(variables).map(([variable, value]) => ({ name: variable, value: toValue(value) })),
          resources: { requests: quantities, limits: quantities },
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ["ALL"] },
            privileged: false,
            readOnlyRootFilesystem: options.hasReadOnlyRoot,
            runAsNonRoot: true,
          },
          volumeMounts: Object.entries(VOLUMES).map(([volume, mountPath]) => ({ name: volume, mountPath })),
        },
      ],
      volumes: Object.keys(VOLUMES).map((volume) => ({
        name: volume,
        emptyDir: { sizeLimit: quantities["ephemeral-storage"] },
      })),
    },
  };
}
