/** The browser's credential: a cookie that scripts cannot read and other sites cannot send. */
const SESSION_COOKIE = "drover_session";

export function parseSessionCookie(header: string | undefined): string | undefined {
  for (const part of (header ?? "").split(";")) {
    const [name, value] = part.trim().split("=", 2);
    if (name === SESSION_COOKIE && value !== undefined && value !== "") return value;
  }
  return undefined;
}

export function toSessionCookie(
  session: string,
  options: { readonly days: number; readonly isSecure: boolean },
): string {
  const seconds = Math.round(options.days * 86_400);
  return `${SESSION_COOKIE}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${options.isSecure ? "; Secure" : ""}`;
}

export const CLEARED_SESSION_COOKIE = `${SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;
