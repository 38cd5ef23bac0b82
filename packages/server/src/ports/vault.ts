/** Seals small secrets that must be stored. */
export interface Vault {
  seal(plain: string): Uint8Array;
  /** Throws when the bytes were not sealed by this vault. */
  open(sealed: Uint8Array): string;
}
