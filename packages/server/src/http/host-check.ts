/** Which Host and Origin headers are served: a page of another site must not reach a server on this machine. */
import { AppError, type Config } from "@drover/contract";

export interface HostCheck {
  isHostServed(host: string | undefined): boolean;
  isOriginServed(origin: string | undefined): boolean;
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

const toName = (host: string): string => host.toLowerCase().replace(/:\d+$/, "");

export function openHostCheck(config: Pick<Config, "host" | "publicUrl" | "allowedHosts">): HostCheck {
  const bound = config.host.includes(":") ? `[${config.host}]` : config.host;
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
    isOriginServed: (origin) => {
      if (origin === undefined) return true;
      return URL.canParse(origin) && names.has(new URL(origin).hostname.toLowerCase());
    },
  };
}

/** An Origin must also be that of the request's own host: another port of this machine is another site. */
export function requireServed(
  check: HostCheck,
  headers: { host?: string | undefined; origin?: string | undefined },
): void {
  if (!check.isHostServed(headers.host))
    throw new AppError("request.host_refused", "this Host is not served; add it to DROVER_ALLOWED_HOSTS");
  if (!check.isOriginServed(headers.origin))
    throw new AppError("request.host_refused", "requests of this Origin are not served");
  if (headers.origin !== undefined && !isSameSite(headers.origin, headers.host)) {
    throw new AppError("request.host_refused", "the Origin is not the site of this server");
  }
}

const isSameSite = (origin: string, host: string | undefined): boolean => new URL(origin).host === host?.toLowerCase();
