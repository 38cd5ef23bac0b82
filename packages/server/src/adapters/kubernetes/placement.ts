/** What the configuration says in words about where pods run and what they reach, as the cluster's own shapes. */
import { isIP } from "node:net";
import { AppError } from "@drover/contract";
import type { V1NetworkPolicyPeer, V1Toleration } from "@kubernetes/client-node";

const toWords = (text: string | undefined): readonly string[] =>
  (text ?? "").split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));

function refuse(setting: string, word: string, form: string): never {
  throw new AppError("provider.unavailable", `${setting}: ${word} is not of the form ${form}`);
}

export const parseNames = toWords;

/** `key=value,key=value` */
export function parsePairs(setting: string, text: string | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    toWords(text).map((word) => {
      const [, key, value] = /^([^=]+)=(.*)$/.exec(word) ?? refuse(setting, word, "key=value");
      return [key, value];
    }),
  );
}

/** `key=value:Effect`, or `key:Effect` for any value. */
export function parseTolerations(setting: string, text: string | undefined): V1Toleration[] {
  return toWords(text).map((word) => {
    const [, key = "", value, effect = ""] =
      /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(word) ??
      refuse(setting, word, "key=value:NoSchedule");
    return value === undefined ? { key, operator: "Exists", effect } : { key, operator: "Equal", value, effect };
  });
}

function toBlock(setting: string, word: string): V1NetworkPolicyPeer {
  const [, address = "", length = ""] = /^([^/]+)\/(\d{1,3})$/.exec(word) ?? refuse(setting, word, "10.0.0.0/8");
  const family = isIP(address);
  if (family === 0 || Number(length) > (family === 4 ? 32 : 128)) refuse(setting, word, "10.0.0.0/8");
  return { ipBlock: { cidr: word } };
}

/** Addresses (`10.0.0.0/8`), and for pods of this cluster `namespace/label=value`. */
export function parsePeers(setting: string, text: string | undefined): V1NetworkPolicyPeer[] {
  return toWords(text).map((word) => {
    const [, namespace, label, value] = /^([a-z0-9-]+)\/([^=]+)=(.*)$/.exec(word) ?? [];
    if (namespace === undefined || label === undefined || value === undefined) return toBlock(setting, word);
    return {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      podSelector: { matchLabels: { [label]: value } },
    };
  });
}
