/** Paths that come from outside stay inside one directory, also through symbolic links. */
import { AppError } from "@drover/contract";
import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

const isInside = (root: string, path: string) =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

const refuse = (path: string, why: string) => new AppError("request.invalid", `${path} ${why}`);

/** The nearest directory above `path` that exists, with links resolved. */
async function findRealParent(path: string): Promise<string> {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    const real = await realpath(parent).catch(() => undefined);
    if (real !== undefined || parent === dirname(parent)) return real ?? parent;
  }
}

export interface ConfinedPath {
  /** Where it is. */
  readonly absolute: string;
  /** How it is called inside the directory, with `/`. */
  readonly name: string;
}

export async function confine(root: string, path: string): Promise<ConfinedPath> {
  const realRoot = await realpath(root);
  const absolute = isAbsolute(path) ? resolve(path) : resolve(root, path);
  const name = relative(resolve(root), absolute);
  if (name === "" || name.startsWith("..") || isAbsolute(name)) throw refuse(path, "is outside the working directory");
  if (path.includes("\u0000") || name.split(sep).includes(".git")) throw refuse(path, "may not be written");
  const target = join(realRoot, name);
  if (!isInside(realRoot, await findRealParent(target))) throw refuse(path, "leads outside the working directory");
  const stat = await lstat(target).catch(() => undefined);
  if (stat?.isSymbolicLink() === true) throw refuse(path, "is a symbolic link");
  if (stat?.isDirectory() === true) throw refuse(path, "is a directory");
  return { absolute: target, name: name.split(sep).join("/") };
}
