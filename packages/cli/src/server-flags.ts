/** The server's settings as flags of the command line; read from the contract's table. */
import { OPTIONS, type Option, type OptionName } from "@drover/contract";
import type { Arguments, Flag } from "./verb.ts";

const named = (Object.keys(OPTIONS) as OptionName[]).flatMap((name) => {
  const option: Option = OPTIONS[name];
  return option.flag === undefined ? [] : [{ name, option, flag: option.flag.replace(/^--/, "") }];
});

export const toServerFlags = (): readonly Flag[] =>
  named.map(({ flag, option }) => ({
    name: flag,
    ...(option.isSwitch === true ? {} : { value: "value" }),
    doc: `${option.doc}${option.fallback === undefined ? "" : ` (${option.fallback})`}`,
  }));

export const toServerParams = (args: Arguments): { readonly [Name in OptionName]?: string | undefined } =>
  Object.fromEntries(named.map(({ name, flag }) => [name, args.has(flag) ? "true" : args.get(flag)]));
