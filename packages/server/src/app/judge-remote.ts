/** Where the server looks when somebody names a repository: what a sandbox with an open network might reach, and nothing else. */
import { decideAddresses, decideTarget, parseRepoAddress, toHost, type EgressPolicy } from "@drover/core";
import type { EgressSettings } from "./govern-egress.ts";

interface Target {
  readonly host: string;
  readonly port: number;
}

const toWords = (refusal: string): string =>
  `the server does not look there beforehand: ${refusal.replaceAll("_", " ")} (DROVER_EGRESS_ALLOW_PRIVATE names exceptions)`;

/** The host is taken without a final dot: as it is judged, it is looked up and dialled. */
export function locateRemote(repo: string) {
  const parsed = parseRepoAddress(repo);
  if (parsed?.kind === "local") return { kind: "local", path: parsed.address } as const;
  const url = URL.parse(repo);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const host = toHost(url.hostname);
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return { kind: "http", url, target: host === undefined ? undefined : { host, port } } as const;
}

export function openRemoteJudge({ ports, rules }: EgressSettings, own: () => EgressPolicy["own"]) {
  const toPolicy = (): EgressPolicy => ({ network: "open", rules, openPorts: ports, own: own() });
  return {
    locate: locateRemote,
    complainOfTarget: (target: Target | undefined): string | undefined => {
      const decision = decideTarget(toPolicy(), target);
      return decision.ok ? undefined : toWords(decision.reason);
    },
    complainOfAddresses: (target: Target, addresses: readonly string[]): string | undefined => {
      const decision = decideAddresses(toPolicy(), target, addresses);
      return decision.ok ? undefined : toWords(decision.reason);
    },
  };
}
