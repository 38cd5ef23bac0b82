/** Which server a command talks to, and as whom: flags > environment > what a server on this machine left behind. */
import { resolve } from "node:path";
import type { Client } from "@drover/client";
import { loadConfigSources, resolveConfig } from "@drover/server/config";
import { loadCredentials, type Credentials } from "./credentials-file.ts";
import { UnreachableError, UsageError } from "./exit-code.ts";
import { readSecret } from "./read-secret.ts";
import type { Arguments, Context } from "./verb.ts";

export interface Connection {
  readonly url: string;
  readonly token: string | undefined;
}

function loadLocal(context: Context): Credentials | undefined {
  const { config } = resolveConfig({ env: context.env, ...loadConfigSources(context.cwd) });
  return loadCredentials(resolve(context.cwd, config.dataDir));
}

const toOrigin = (address: string): string => {
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address.replace(/\/+$/, "");
  throw new UsageError(`${JSON.stringify(address)} is not an address; write http://host:port`);
};

/** The local server's token is never shown to another address. */
export function resolveConnection(context: Context, args: Arguments): Connection {
  const tokenFile = args.get("token-file");
  const givenUrl = args.get("url") ?? (context.env["DROVER_URL"] || undefined);
  const givenToken =
    tokenFile === undefined ? context.env["DROVER_TOKEN"] || undefined : readSecret(context, "token-file", tokenFile);
  if (givenUrl !== undefined && givenToken !== undefined) return { url: toOrigin(givenUrl), token: givenToken };
  const local = loadLocal(context);
  const url = givenUrl === undefined ? local?.url : toOrigin(givenUrl);
  if (url === undefined)
    throw new UnreachableError(
      "No running server is known here.\nStart one with: drover up\nOr name one with --url (or DROVER_URL) and a token with --token-file (or DROVER_TOKEN)",
    );
  return { url, token: givenToken ?? (local?.url === url ? local.token : undefined) };
}

export function connect(context: Context, args: Arguments): Client {
  const { url, token } = resolveConnection(context, args);
  return context.createClient({ baseUrl: url, token });
}
