/** Paths as people write them, as paths inside a sandbox. */
import { posix } from "node:path";

const WORKSPACE = "/workspace";

/** A relative path counts from the workspace. Where it leads inside is the sandbox's affair: there is nothing else to reach. */
export const toInsidePath = (path: string): string => posix.resolve(WORKSPACE, path);
