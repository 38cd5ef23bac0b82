/** What a repository's address may be, and whether it means this machine's own files. */
export type RepoAddress = { readonly kind: "remote" | "local"; readonly address: string };

const REMOTE = /^(?:https?|ssh|git):\/\/[^\s-][^\s]*$|^[\w.-]+@[\w.-]+:[^\s]+$/;
const LOCAL = /^(?:file:\/\/)?(\/[^\0\n]*)$/;

/** Undefined for anything else: relative paths, options in disguise, transports that run programs. */
export function parseRepoAddress(text: string): RepoAddress | undefined {
  if (REMOTE.test(text)) return { kind: "remote", address: text };
  const [, path] = LOCAL.exec(text) ?? [];
  return path === undefined ? undefined : { kind: "local", address: path };
}

/** As it is shown: a password stays behind, and over HTTP the name before it too, which may be a token itself. */
export const hidePassword = (address: string): string =>
  address.replace(/^(https?:\/\/)[^/@\s]+@/i, "$1***@").replace(/^((?:ssh|git):\/\/[^/@:\s]+):[^/@\s]*@/i, "$1:***@");
