/** What a sandbox may reach: decided by name before anything is looked up, and by address before anything is dialled. */
import { isSameAddress, toAddressBytes, toAddressKind } from "./address.ts";

export interface EgressRule {
  /** A name, `*.` and a domain, or an address; lower case. */
  readonly host: string;
  readonly ports: readonly number[];
  /** The operator named this host: it may also lie in a private network or on this machine. */
  readonly mayBePrivate: boolean;
}

export interface EgressPolicy {
  readonly network: "none" | "allowlist" | "open";
  readonly rules: readonly EgressRule[];
  /** Reachable where no rule says otherwise, when the policy is `open`. */
  readonly openPorts: readonly number[];
  /** This server: never a target. */
  readonly own: { readonly addresses: readonly string[]; readonly port: number };
}

export interface EgressTarget {
  readonly host: string;
  readonly port: number;
}

export type EgressRefusal =
  | "no_network"
  | "not_a_host"
  | "not_on_the_list"
  | "port_not_allowed"
  | "own_address"
  | "private_address"
  | "loopback_address"
  | "link_local_address"
  | "metadata_address"
  | "multicast_address"
  | "unspecified_address"
  | "embedded_address"
  | "reserved_address"
  | "no_address";

export type EgressDecision = { readonly ok: true } | { readonly ok: false; readonly reason: EgressRefusal };

const ALLOWED: EgressDecision = { ok: true };
const refuse = (reason: EgressRefusal): EgressDecision => ({ ok: false, reason });

const NAME_LIMIT = 253;
const LAST_PORT = 65_535;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** Resolvers read a name that ends like this as an address, each in its own way. */
const NUMERIC = /^(?:\d+|0x[0-9a-f]*)$/;

/** Lower case, without brackets or a final dot; undefined for what is neither a name nor an address. */
export function toHost(text: string): string | undefined {
  const bracketed = /^\[(.*)\]$/.exec(text)?.[1];
  if (bracketed !== undefined)
    return bracketed.includes(":") && toAddressBytes(bracketed) !== undefined ? bracketed.toLowerCase() : undefined;
  const host = text.toLowerCase().replace(/\.$/, "");
  if (host.length > NAME_LIMIT) return undefined;
  const labels = host.split(".");
  if (NUMERIC.test(labels.at(-1) ?? "")) return toAddressBytes(host) === undefined ? undefined : host;
  return labels.every((label) => LABEL.test(label)) ? host : undefined;
}

/** `host:port`, as CONNECT names its target. */
export function toTarget(authority: string): EgressTarget | undefined {
  const [, name = "", digits = ""] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(authority) ?? [];
  const [host, port] = [toHost(name), Number(digits)];
  return host === undefined || port < 1 || port > LAST_PORT ? undefined : { host, port };
}

function isNamed(rule: EgressRule, host: string): boolean {
  if (rule.host.startsWith("*.")) return host.endsWith(rule.host.slice(1)) && toAddressBytes(host) === undefined;
  return rule.host === host || isSameAddress(rule.host, host);
}

/** Before a name is looked up, so that a name that is refused never leaves this machine. */
export function decideTarget(policy: EgressPolicy, target: EgressTarget | undefined): EgressDecision {
  if (policy.network === "none") return refuse("no_network");
  if (target === undefined) return refuse("not_a_host");
  const named = policy.rules.filter((rule) => isNamed(rule, target.host));
  if (named.some((rule) => rule.ports.includes(target.port))) return ALLOWED;
  if (policy.network === "allowlist") return refuse(named.length > 0 ? "port_not_allowed" : "not_on_the_list");
  return policy.openPorts.includes(target.port) ? ALLOWED : refuse("port_not_allowed");
}

const isPrivateAllowed = (policy: EgressPolicy, target: EgressTarget): boolean =>
  policy.rules.some(
    (rule) =>
      rule.mayBePrivate &&
      !rule.host.startsWith("*.") &&
      isNamed(rule, target.host) &&
      rule.ports.includes(target.port),
  );

function decideAddress(policy: EgressPolicy, target: EgressTarget, address: string): EgressDecision {
  const kind = toAddressKind(address);
  const isOwn = policy.own.addresses.some((own) => isSameAddress(own, address));
  if ((isOwn || kind === "loopback") && target.port === policy.own.port) return refuse("own_address");
  const mayBePrivate = isPrivateAllowed(policy, target);
  if (isOwn && !mayBePrivate) return refuse(kind === "loopback" ? "loopback_address" : "own_address");
  if (kind === "public") return ALLOWED;
  if (mayBePrivate && (kind === "private" || kind === "loopback")) return ALLOWED;
  return refuse(`${kind}_address`);
}

/** All that a name resolved to. One bad address refuses the whole answer: who mixes them is trying something. */
export function decideAddresses(
  policy: EgressPolicy,
  target: EgressTarget,
  addresses: readonly string[],
): EgressDecision {
  if (addresses.length === 0) return refuse("no_address");
  return addresses.map((address) => decideAddress(policy, target, address)).find((decision) => !decision.ok) ?? ALLOWED;
}

/** `host`, `*.domain` or either with `:port`, as a setting names it; undefined when it names nothing. */
export function toEgressRule(text: string, ports: readonly number[], mayBePrivate: boolean): EgressRule | undefined {
  const [, name = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
  const isWild = name.startsWith("*.");
  const host = toHost(isWild ? name.slice(2) : name);
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || (port !== undefined && (port < 1 || port > LAST_PORT))) return undefined;
  if (isWild && (mayBePrivate || toAddressBytes(host) !== undefined)) return undefined;
  return { host: isWild ? `*.${host}` : host, ports: port === undefined ? ports : [port], mayBePrivate };
}

/** The host of a registry that the operator's own programs use; it may be private, because they chose it. */
export function toRegistryRule(url: string, ports: readonly number[]): EgressRule | undefined {
  const [, authority = ""] = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]+)/i.exec(url) ?? [];
  return authority === "" ? undefined : toEgressRule(authority, ports, true);
}
