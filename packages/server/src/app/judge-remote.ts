/** Where the server looks when somebody names a repository: what a sandbox with an open network might reach, and nothing else. */
import { decideAddresses, decideTarget, parseRepoAddress, type EgressPolicy } from "@drover/core";
import type { EgressSettings } from "./govern-egress.ts";

interface Target {
  readonly host: string;
  readonly port: number;
}

const toWords = (refusal: string): string =>
  `the server does not look there beforehand: ${refusal.replaceAll("_", " ")} (DROVER_EGRESS_ALLOW_PRIVATE names exceptions)`;

export function openRemoteJudge({ ports, rules }: EgressSettings, own: () => EgressPolicy["own"]) {
  const toPolicy = (): EgressPolicy => ({ network: "open", rules, openPorts: ports, own: own() });
  return {
    toDirectory: (repo: string): string | undefined => {
      const parsed = parseRepoAddress(repo);
      return parsed?.kind === "local" ? parsed.address : undefined;
    },
    complainOfTarget: (target: Target): string | undefined => {
      const decision = decideTarget(toPolicy(), target);
      return decision.ok ? undefined : toWords(decision.reason);
    },
    complainOfAddresses: (target: Target, addresses: readonly string[]): string | undefined => {
      const decision = decideAddresses(toPolicy(), target, addresses);
      return decision.ok ? undefined : toWords(decision.reason);
    },
  };
}
