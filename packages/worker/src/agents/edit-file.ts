/** Changes one file for real. Planned first and applied second, so that the plan can be on disk in between. */
import { AppError } from "@drover/contract";
import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type ConfinedPath, confine } from "../confine.ts";
import type { Edit } from "./script.ts";

interface FileVersion {
  readonly name: string;
  readonly text: string;
  readonly isExecutable: boolean;
}

export interface EditPlan {
  readonly from: ConfinedPath;
  readonly to: ConfinedPath;
  readonly before: FileVersion | undefined;
  readonly after: FileVersion | undefined;
  /** Missing when nothing changes. */
  readonly changeType: "created" | "modified" | "deleted" | "renamed" | undefined;
}

const refuse = (detail: string) => new AppError("request.invalid", detail);

async function loadVersion(path: ConfinedPath): Promise<FileVersion | undefined> {
  const bytes = await readFile(path.absolute).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw refuse(`${path.name}: ${error.code}`);
  });
  if (bytes === undefined) return undefined;
  const text = bytes.toString("utf8");
  if (text.includes("\u0000") || !Buffer.from(text, "utf8").equals(bytes))
    throw refuse(`${path.name} is not a text file`);
  return { name: path.name, text, isExecutable: ((await stat(path.absolute)).mode & 0o111) !== 0 };
}

function toText(edit: Edit, before: FileVersion | undefined, fill: (text: string) => string): string | undefined {
  if (edit.delete === true) return undefined;
  if (edit.content !== undefined) return fill(edit.content);
  if (before === undefined) throw refuse(`${edit.path} does not exist`);
  if (edit.find === undefined) return before.text;
  const find = fill(edit.find);
  if (!before.text.includes(find)) throw refuse(`${edit.path} does not contain the text to replace`);
  return before.text.replace(find, () => fill(edit.replace ?? ""));
}

/** Names what the file holds now; tells whether an edit is still to be made. */
export async function hashFile(cwd: string, path: string): Promise<string> {
  const version = await loadVersion(await confine(cwd, path));
  return version === undefined ? "absent" : createHash("sha256").update(version.text).digest("hex");
}

function toChangeType(before: FileVersion | undefined, after: FileVersion | undefined): EditPlan["changeType"] {
  if (before === undefined) return "created";
  if (after === undefined) return "deleted";
  if (before.name !== after.name) return "renamed";
  return before.text === after.text && before.isExecutable === after.isExecutable ? undefined : "modified";
}

/** `isRedo`: a death may have left both names of a renamed file. */
export async function planEdit(
  cwd: string,
  edit: Edit,
  fill: (text: string) => string,
  isRedo = false,
): Promise<EditPlan> {
  const from = await confine(cwd, fill(edit.path));
  const to = edit.rename === undefined ? from : await confine(cwd, fill(edit.rename));
  const before = await loadVersion(from);
  if (before === undefined && edit.content === undefined) throw refuse(`${from.name} does not exist`);
  if (!isRedo && to.name !== from.name && (await loadVersion(to)) !== undefined) throw refuse(`${to.name} exists`);
  const text = toText(edit, before, fill);
  const isExecutable = edit.executable ?? before?.isExecutable ?? false;
  const after = text === undefined ? undefined : { name: to.name, text, isExecutable };
  return { from, to, before, after, changeType: toChangeType(before, after) };
}

/** A reader sees the old file or the new one, whole. */
async function writeWhole(path: string, version: FileVersion): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.${basename(path)}.drover`);
  await writeFile(temporary, version.text);
  await chmod(temporary, version.isExecutable ? 0o755 : 0o644);
  await rename(temporary, path);
}

export async function applyEdit({ from, to, before, after }: EditPlan): Promise<void> {
  if (after !== undefined) await writeWhole(to.absolute, after);
  if (before !== undefined && (after === undefined || to.name !== from.name)) await rm(from.absolute, { force: true });
}
