/** Settings of the providers that run sandboxes elsewhere, and of what is seen of sandboxes in a browser. */
import { z } from "zod";
import type { Option } from "./options.ts";

const optionalText = z.string().min(1).optional();
const Flag = z.stringbool();

export const PROVIDER_OPTIONS = {
  previewHost: {
    env: "DROVER_PREVIEW_HOST",
    yaml: "preview.host",
    schema: z
      .string()
      .toLowerCase()
      .regex(/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/, "is no host name"),
    fallback: "preview.localhost",
    doc: "The name below which previews of sandboxes are seen, each at one of its own; all of them must lead to this server.",
  },
  remoteUrl: {
    env: "DROVER_REMOTE_URL",
    yaml: "remote.url",
    schema: z.url({ protocol: /^https?$/ }).optional(),
    doc: "The other Drover that runs the sandboxes of provider remote.",
  },
  remoteToken: {
    env: "DROVER_REMOTE_TOKEN",
    yaml: "remote.token",
    schema: optionalText,
    doc: "A token of the other Drover: an operator of all projects there.",
    secret: true,
  },
  kubernetesConfig: {
    env: "KUBERNETES_CONFIG",
    yaml: "kubernetes.config",
    schema: optionalText,
    doc: "The kubeconfig of provider kubernetes, or in-cluster for the service account of the pod this server runs in.",
  },
  kubernetesContext: {
    env: "KUBERNETES_CONTEXT",
    yaml: "kubernetes.context",
    schema: optionalText,
    doc: "The context of the kubeconfig; its current one unless told.",
  },
  kubernetesNamespace: {
    env: "KUBERNETES_NAMESPACE",
    yaml: "kubernetes.namespace",
    schema: z.string().regex(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/, "is no name of a namespace"),
    fallback: "drover-sandboxes",
    doc: "Where the pods of sandboxes are; the server needs no right anywhere else.",
  },
  kubernetesServer: {
    env: "KUBERNETES_SERVER",
    yaml: "kubernetes.server",
    schema: optionalText,
    doc: "Where this server answers, for the network policies of pods: addresses (10.1.2.0/24), or pods of the cluster (namespace/label=value).",
  },
  kubernetesAllowlist: {
    env: "KUBERNETES_ALLOWLIST",
    yaml: "kubernetes.allowlist",
    schema: optionalText,
    doc: "What pods with network allowlist reach, in the same words: policies of a cluster know no names of hosts.",
  },
  kubernetesImagePullSecrets: {
    env: "KUBERNETES_IMAGE_PULL_SECRETS",
    yaml: "kubernetes.image_pull_secrets",
    schema: optionalText,
    doc: "Names of secrets of the namespace with which images are fetched.",
  },
  kubernetesNodeSelector: {
    env: "KUBERNETES_NODE_SELECTOR",
    yaml: "kubernetes.node_selector",
    schema: optionalText,
    doc: "Labels of the nodes that may run sandboxes: key=value,key=value.",
  },
  kubernetesTolerations: {
    env: "KUBERNETES_TOLERATIONS",
    yaml: "kubernetes.tolerations",
    schema: optionalText,
    doc: "Taints of nodes that sandboxes bear: key=value:NoSchedule,key:NoExecute.",
  },
  kubernetesRuntimeClass: {
    env: "KUBERNETES_RUNTIME_CLASS",
    yaml: "kubernetes.runtime_class",
    schema: optionalText,
    doc: "A runtime class of the cluster with a stronger wall, such as gvisor or kata.",
  },
  kubernetesReadOnlyRoot: {
    env: "KUBERNETES_READ_ONLY_ROOT",
    yaml: "kubernetes.read_only_root",
    schema: Flag,
    fallback: "true",
    doc: "The image's files cannot be changed; /workspace, /home/agent and /tmp can.",
  },
  kubernetesTimeoutSeconds: {
    env: "KUBERNETES_TIMEOUT",
    yaml: "kubernetes.timeout",
    schema: z.coerce.number().positive(),
    fallback: "300",
    doc: "How long the cluster may take to make or to remove a pod, in seconds.",
  },
} as const satisfies Record<string, Option>;
