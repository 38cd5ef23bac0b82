/** One wide record per unit of work: event-style names, ids always, no prose, no secrets. */
export interface Log {
  debug(name: string, fields?: Readonly<Record<string, unknown>>): void;
  info(name: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(name: string, fields?: Readonly<Record<string, unknown>>): void;
  error(name: string, fields?: Readonly<Record<string, unknown>>): void;
}
