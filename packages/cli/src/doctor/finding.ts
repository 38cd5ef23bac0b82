/** What one look of the doctor found. */
export type Status = "ok" | "warning" | "broken" | "skipped";

export interface Finding {
  readonly name: string;
  readonly status: Status;
  readonly detail: string;
  /** One thing to do about it. */
  readonly fix?: string;
}

export const ok = (name: string, detail: string): Finding => ({ name, status: "ok", detail });
export const skipped = (name: string, detail: string): Finding => ({ name, status: "skipped", detail });
export const broken = (name: string, detail: string, fix: string): Finding => ({ name, status: "broken", detail, fix });
export const warning = (name: string, detail: string, fix: string): Finding => ({
  name,
  status: "warning",
  detail,
  fix,
});

/** What is broken matters only if it is needed. */
export const brokenIf = (isNeeded: boolean, name: string, detail: string, fix: string): Finding =>
  isNeeded ? broken(name, detail, fix) : skipped(name, detail);

export const toReason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
