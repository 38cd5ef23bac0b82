/** Where this server is reached from its own machine. */

/** Who listens everywhere is spoken to at loopback: `0.0.0.0` is no name that a browser or the Host check takes. */
const LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export function toOwnAddress(host: string, port: number): string {
  const name = LOOPBACK[host] ?? host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
