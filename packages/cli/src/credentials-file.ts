/** Where a running server leaves its address and a token for the command line of the same machine and user. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Credentials {
  readonly url: string;
  readonly token: string;
}

const isCredentials = (value: unknown): value is Credentials =>
  typeof value === "object" &&
  value !== null &&
  "url" in value &&
  "token" in value &&
  typeof value.url === "string" &&
  typeof value.token === "string";

const toPath = (dataDir: string) => join(dataDir, "cli.json");

/** Undefined when no server of this data directory runs. */
export function loadCredentials(dataDir: string): Credentials | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(toPath(dataDir), "utf8"));
    return isCredentials(value) ? value : undefined;
  } catch {
    return undefined; // Expected: absent, of another user, or not ours; then it is no credential.
  }
}

/** Readable by this user only, and never seen half written. */
export function ensureCredentials(dataDir: string, credentials: Credentials): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const draft = `${toPath(dataDir)}.${randomBytes(6).toString("hex")}`;
  writeFileSync(draft, `${JSON.stringify(credentials)}\n`, { mode: 0o600, flag: "wx" });
  renameSync(draft, toPath(dataDir));
}

/** Removes the file unless another server has written its own since. */
export function removeCredentials(dataDir: string, token: string): void {
  if (loadCredentials(dataDir)?.token === token) rmSync(toPath(dataDir), { force: true });
}
