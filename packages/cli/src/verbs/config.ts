/** drover config: every setting, its value and where it comes from. */
import { OPTIONS, type Config, type Option, type OptionName } from "@drover/contract";
import { loadConfigSources, resolveConfig, type Origins } from "@drover/server/config";
import { takePositionals } from "../arguments.ts";
import { EXIT } from "../exit-code.ts";
import { toServerFlags, toServerParams } from "../server-flags.ts";
import { formatTable } from "../table.ts";
import { cut } from "../terminal.ts";
import type { Verb } from "../verb.ts";

const VALUE_WIDTH = 18;

interface Setting {
  readonly name: OptionName;
  readonly value: string | number | boolean | null;
  readonly origin: Origins[OptionName];
  readonly env: string;
  readonly yaml: string;
}

/** A secret is known to be set or not; its value is not told. */
function toSettings(config: Config, origins: Origins): readonly Setting[] {
  return (Object.keys(OPTIONS) as OptionName[]).map((name) => {
    const option: Option = OPTIONS[name];
    const value = config[name] ?? null;
    return {
      name,
      value: option.secret === true && value !== null ? "***" : value,
      origin: origins[name],
      env: option.env,
      yaml: option.yaml,
    };
  });
}

const toOriginText = ({ value, origin }: Setting): string => {
  if (origin.kind === "default") return value === null ? "unset" : "default";
  return origin.kind === "parameter" ? origin.name : `${origin.kind} ${origin.name}`;
};

function formatSettings(settings: readonly Setting[], width: number): readonly string[] {
  const rows = settings.map((one) => [
    one.name,
    one.value === null ? "-" : cut(String(one.value), VALUE_WIDTH),
    toOriginText(one),
  ]);
  return formatTable(["SETTING", "VALUE", "FROM"], rows, width);
}

export const config: Verb = {
  name: "config",
  summary: "Show every setting, its value and where it comes from.",
  usage: "[flags]",
  flags: toServerFlags(),
  details: "Flags win over the environment, then .env, then drover.yaml, then defaults. Secrets are shown as ***.",
  async run(context, args) {
    takePositionals(config, args, 0, 0);
    const resolved = resolveConfig({
      params: toServerParams(args),
      env: context.env,
      ...loadConfigSources(context.cwd),
    });
    const settings = toSettings(resolved.config, resolved.origins);
    if (args.has("json")) context.print(JSON.stringify(settings, null, 2));
    else for (const line of formatSettings(settings, context.width)) context.print(line);
    return EXIT.ok;
  },
};
