/** Looks names up by DNS and the hosts file, without the threads that files wait for: a sandbox may ask for many slow names. */
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { NameResolver } from "../../ports/egress.ts";

const TRY_MS = 2_000;
const TRIES = 2;
const HOSTS = "/etc/hosts";

/** What the operator wrote down for a name comes before what the network says. */
async function readHosts(host: string): Promise<readonly string[]> {
  // Expected: a machine without such a file.
  const text = await readFile(HOSTS, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    return names.includes(host) && isIP(address) !== 0 ? [address] : [];
  });
}

export const systemResolver: NameResolver = {
  resolve: async (host, signal) => {
    if (isIP(host) !== 0) return [host];
    const written = await readHosts(host);
    if (written.length > 0) return written;
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
    const cancel = () => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    // Expected: a name that does not exist, has no address of this family, or whose server does not answer.
    const none = () => [];
    const [v4, v6] = await Promise.all([resolver.resolve4(host).catch(none), resolver.resolve6(host).catch(none)]);
    signal.removeEventListener("abort", cancel);
    return [...v4, ...v6];
  },
};
