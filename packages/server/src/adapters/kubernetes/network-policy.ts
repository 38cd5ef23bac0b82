/** What a sandbox reaches: nothing comes in, and out go only Drover's server, the cluster's DNS, and what its network setting adds. */
import type { V1NetworkPolicy, V1NetworkPolicyEgressRule, V1NetworkPolicyPeer } from "@kubernetes/client-node";
import type { SandboxSpec } from "../../ports/sandbox-provider.ts";
import { NAME_LABEL, OURS, toAnnotations, toClusterLabels, toName } from "./names.ts";

export interface PolicyOptions {
  /** Where Drover's server answers. */
  readonly server: readonly V1NetworkPolicyPeer[];
  /** What `network: allowlist` reaches: policies of a cluster know addresses and no names. */
  readonly allowed: readonly V1NetworkPolicyPeer[];
}

const DNS: V1NetworkPolicyEgressRule = {
  to: [{ namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } }],
  ports: [
    { protocol: "UDP", port: 53 },
    { protocol: "TCP", port: 53 },
  ],
};

/** The internet without what is nobody's business of a sandbox: private, shared, loopback and link-local addresses, with the metadata
 *  services that live there, and multicast. */
const INTERNET: readonly V1NetworkPolicyPeer[] = [
  {
    ipBlock: {
      cidr: "0.0.0.0/0",
      except: [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
      ],
    },
  },
  // Global unicast only: what is private, link-local or multicast lies outside. The rest of the list leads back to private IPv4.
  { ipBlock: { cidr: "2000::/3", except: ["2002::/16", "2001::/32"] } },
];

const toOwn = (network: SandboxSpec["network"], { allowed }: PolicyOptions): readonly V1NetworkPolicyPeer[] =>
  network === "open" ? INTERNET : network === "allowlist" ? allowed : [];

/** A rule without addresses would mean every address, so an empty list is no rule. */
const toRules = (peers: readonly V1NetworkPolicyPeer[]): V1NetworkPolicyEgressRule[] =>
  peers.length === 0 ? [] : [{ to: [...peers] }];

export function toNetworkPolicy(spec: SandboxSpec, namespace: string, options: PolicyOptions): V1NetworkPolicy {
  const name = toName(spec.key);
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name,
      namespace,
      labels: { ...toClusterLabels(spec.labels), ...OURS },
      annotations: toAnnotations(spec.key, spec.labels),
    },
    spec: {
      podSelector: { matchLabels: { [NAME_LABEL]: name } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [],
      egress: [DNS, ...toRules(options.server), ...toRules(toOwn(spec.network, options))],
    },
  };
}
