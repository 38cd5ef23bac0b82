/** Numbers and times as people read them. */
const number = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

export const formatCount = (value: number): string => number.format(value);

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `812`, `18.2K`, `1.4M`. */
export const formatShort = (value: number): string => short.format(value);

export const formatClock = (at: string): string => clock.format(new Date(at));

const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const LONG_MS = 36 * 3_600_000;

/** The end of a time axis, as fine as its length asks for: `05:44`, `19 Nov`. */
export const formatAxis = (at: string, lengthMs: number): string =>
  (lengthMs < LONG_MS ? hour : date).format(new Date(at));

export const formatDay = (at: string): string => day.format(new Date(at));

/** `4s`, `8m 12s`, `3h 05m`, `2d 4h`. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, "0")}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${String(minutes % 60).padStart(2, "0")}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** What was set and does not run: `30s`, `5m`, `1h 30m`. */
export const formatPeriod = (ms: number): string => formatSpan(ms).replace(/ 0+[smh]$/, "");

/** `480 ms`, `4.5 s`, then as a span. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : formatSpan(ms);
}

/** Short age: `4s`, `8m`, `3h`, `2d`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

export const plural = (count: number, noun: string, several = `${noun}s`): string =>
  `${formatCount(count)} ${count === 1 ? noun : several}`;

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** `512 B`, `3.4 kB`, `12 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1_000 && unit < UNITS.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** `$0.0042`, `$1.20`: cents, and less than one where there is less. */
export const formatCost = (usd: number): string => `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
