/** Where webhooks may go: public addresses by TLS, and what the operator named. */
import { decideAddresses, decideTarget, toEgressRule, type EgressPolicy } from "@drover/core";
import { AppError, type Config } from "@drover/contract";

const PORT = 443;

interface Target {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

function parseAllowed(text: string | undefined): EgressPolicy["rules"] {
  return (text ?? "").split(/[\s,]+/).flatMap((word) => {
    if (word === "") return [];
    const rule = toEgressRule(word, [PORT], true);
    if (rule === undefined) throw new AppError("config.invalid", `DROVER_WEBHOOK_ALLOW: ${word} names no host`);
    return [rule];
  });
}

const toWords = (refusal: string): string => `it is refused: ${refusal.replaceAll("_", " ")} (DROVER_WEBHOOK_ALLOW)`;

export function openWebhookJudge(config: Pick<Config, "webhookAllow">, own: () => EgressPolicy["own"]) {
  const rules = parseAllowed(config.webhookAllow);
  const toPolicy = (): EgressPolicy => ({ network: "open", rules, openPorts: [PORT], own: own() });
  const isNamed = (target: Target) => decideTarget({ ...toPolicy(), network: "allowlist" }, target).ok;
  return {
    complainOfTarget: (target: Target): string | undefined => {
      if (!target.isSecure && !isNamed(target)) return "it is not https (DROVER_WEBHOOK_ALLOW names exceptions)";
      const decision = decideTarget(toPolicy(), target);
      return decision.ok ? undefined : toWords(decision.reason);
    },
    complainOfAddresses: (target: Target, addresses: readonly string[]): string | undefined => {
      const decision = decideAddresses(toPolicy(), target, addresses);
      return decision.ok ? undefined : toWords(decision.reason);
    },
  };
}
