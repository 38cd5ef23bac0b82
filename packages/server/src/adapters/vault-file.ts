/** AES-256-GCM with the installation's key: given by configuration, or made once and kept in the data directory. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { link, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Vault } from "../ports/vault.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

function createVault(key: Uint8Array): Vault {
  return {
    seal: (plain) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed);
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        "utf8",
      );
    },
  };
}

/** Never leaves a half-written key behind: the whole file is on disk before it gets its name. */
async function makeKeyFile(path: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  const file = await open(temporary, "wx", 0o600);
  await file.writeFile(randomBytes(32));
  await file.sync();
  await file.close();
  // Expected: another start was faster; its key is then the one to use.
  await link(temporary, path).catch(() => undefined);
  await rm(temporary);
}

export async function openVault(dataDir: string, secretKey: string | undefined): Promise<Vault> {
  if (secretKey !== undefined) return createVault(createHash("sha256").update(secretKey).digest());
  const path = join(dataDir, "secret.key");
  const found = await readFile(path).catch(() => undefined);
  if (found === undefined) await makeKeyFile(path);
  return createVault(found ?? (await readFile(path)));
}
