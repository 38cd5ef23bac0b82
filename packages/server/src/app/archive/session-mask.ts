/** What must not leave with a session that is taken along. */
import { OPTIONS, type Option, type OptionName } from "@drover/contract";
import { createSecretMask, type SecretMask } from "@drover/core";
import { listUpstreams } from "../../store/model-settings.ts";
import type { SandboxRow } from "../../store/sandboxes.ts";
import type { Deps } from "../deps.ts";

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;

/** What this server knows to be secret: its settings, the keys of its models, and variables that are called so. */
export async function toMask(deps: Deps, { spec }: SandboxRow): Promise<SecretMask> {
  const settings = (Object.keys(OPTIONS) as OptionName[]).flatMap((name) => {
    const value = (OPTIONS[name] as Option).secret === true ? deps.config[name] : undefined;
    return typeof value === "string" ? value.split(",") : [];
  });
  const keys = (await listUpstreams(deps.db)).flatMap(({ sealed_key: sealed }) => {
    try {
      return sealed === null ? [] : [deps.vault.open(sealed)];
    } catch {
      return []; // expected: sealed with another key, so that nobody here could have told it
    }
  });
  const env = Object.entries((spec["env"] ?? {}) as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && typeof value === "string" ? [value] : [],
  );
  return createSecretMask([...settings, ...keys, ...env]);
}
