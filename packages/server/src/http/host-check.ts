/** Which Host and Origin headers are served: a page of another site must not reach a server on this machine. */
import { AppError, type Config } from "@drover/contract";

export interface HostCheck {
  isHostServed(host: string | undefined): boolean;
  /** Asked of a request whose Host is served. */
  isOriginServed(origin: string | undefined, host: string | undefined): boolean;
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

const toName = (host: string): string => host.toLowerCase().replace(/:\d+$/, "");

export function openHostCheck(config: Pick<Config, "host" | "publicUrl" | "allowedHosts">): HostCheck {
  const bound = config.host.includes(":") ? `[${config.host}]` : config.host;
  const publicOrigin = config.publicUrl === undefined ? undefined : new URL(config.publicUrl).origin;
  const names = new Set([
    ...LOOPBACK_NAMES,
    ...(WILDCARD_HOSTS.has(config.host) ? [] : [bound.toLowerCase()]),
    ...(config.publicUrl === undefined ? [] : [new URL(config.publicUrl).hostname.toLowerCase()]),
    ...(config.allowedHosts ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== ""),
  ]);
  return {
    isHostServed: (host) => host !== undefined && names.has(toName(host)),
    // A page of this host, or of the public address when a proxy does not hand the Host on. Another port is another site.
    isOriginServed: (origin, host) =>
      origin === undefined ||
      (publicOrigin !== undefined && origin === publicOrigin) ||
      URL.parse(origin)?.host === host?.toLowerCase(),
  };
}

export function requireServed(
  check: HostCheck,
  headers: { host?: string | undefined; origin?: string | undefined },
): void {
  if (!check.isHostServed(headers.host))
    throw new AppError("request.host_refused", "this Host is not served; add it to DROVER_ALLOWED_HOSTS");
  if (!check.isOriginServed(headers.origin, headers.host))
    throw new AppError("request.host_refused", "the Origin is not the site of this server");
}
