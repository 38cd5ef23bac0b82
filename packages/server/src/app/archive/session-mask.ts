/** What must not leave with a session that is taken along. */
import { OPTIONS, type Option, type OptionName } from "@drover/contract";
import { createSecretMask, type SecretMask } from "@drover/core";
import { loadProjectGit } from "../../store/git.ts";
import { listUpstreams } from "../../store/model-settings.ts";
import type { SandboxRow } from "../../store/sandboxes.ts";
import type { Deps } from "../deps.ts";

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;

/** What this server knows to be secret: its settings, the keys of its models and of the project's Git host, and variables that are called so. */
export async function toMask(deps: Deps, { spec, project_id }: SandboxRow): Promise<SecretMask> {
  const settings = (Object.keys(OPTIONS) as OptionName[]).flatMap((name) => {
    const value = (OPTIONS[name] as Option).secret === true ? deps.config[name] : undefined;
    return typeof value === "string" ? value.split(",") : [];
  });
  const open = (sealed: Uint8Array | null | undefined): readonly string[] => {
    try {
      return sealed === null || sealed === undefined ? [] : [deps.vault.open(sealed)];
    } catch {
      return []; // expected: sealed with another key, so that nobody here could have told it
    }
  };
  const keys = (await listUpstreams(deps.db)).flatMap(({ sealed_key: sealed }) => open(sealed));
  const git = await loadProjectGit.maybe(deps.db, project_id);
  const env = Object.entries((spec["env"] ?? {}) as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && typeof value === "string" ? [value] : [],
  );
  return createSecretMask([
    ...settings,
    ...keys,
    ...open(git?.sealed_token),
    ...open(git?.sealed_webhook_secret),
    ...env,
  ]);
}
