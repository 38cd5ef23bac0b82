/** drover archive: one session as a file, checked, and into another server; or as a page that needs none. */
import { constants, createReadStream, openAsBlob } from "node:fs";
import { access, open, rename, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const refuse = () => new UsageError(`usage: drover ${archive.name} ${archive.usage}`, archive.name);

/** A page is shown by its reader's browser, so there is nothing to be read back here. */
async function exportPage(context: Context, args: Arguments): Promise<number> {
  const [, sandbox_id = ""] = takePositionals(archive, args, 2, 2);
  const target = resolve(context.cwd, args.get("output") ?? `${sandbox_id}.drover.html`);
  const answer = await connect(context, args).exportRunFile({ params: { sandbox_id } }, { signal: context.signal });
  const { size: bytes } = await writeWhole(answer, target, (draft) => stat(draft));
  context.print(args.has("json") ? JSON.stringify({ file: target, bytes }, null, 2) : target);
  return EXIT.ok;
}

/** Beside its place until it is whole and was looked at. */
async function writeWhole<T>({ body }: Response, target: string, look: (draft: string) => Promise<T>): Promise<T> {
  const draft = `${target}.part`;
  try {
    const file = await open(draft, "w", 0o600);
    try {
      if (body !== null) for await (const chunk of body) await file.write(chunk);
    } finally {
      await file.close();
    }
    const found = await look(draft);
    await rename(draft, target);
    return found;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Read back before it has its name: a file of this name is one that can be imported. */
async function exportOne(context: Context, args: Arguments): Promise<number> {
  if (args.has("html")) return exportPage(context, args);
  const [, sandbox_id = ""] = takePositionals(archive, args, 2, 2);
  const target = resolve(context.cwd, args.get("output") ?? `${sandbox_id}.drover.tar`);
  const answer = await connect(context, args).exportArchive({ params: { sandbox_id } }, { signal: context.signal });
  const { readArchive } = await import("@drover/server");
  const { head, seal, events } = await writeWhole(answer, target, (draft) => readArchive(createReadStream(draft)));
  if (args.has("json")) context.print(JSON.stringify({ file: target, events, head, seal }, null, 2));
  else context.print(`${target}\n${events} events, head ${head}`);
  return EXIT.ok;
}

async function read(context: Context, args: Arguments) {
  const [, given = ""] = takePositionals(archive, args, 2, 2);
  const path = resolve(context.cwd, given);
  await access(path, constants.R_OK).catch((error: Error) => {
    // Expected: a mistyped path.
    throw new UsageError(`${given} cannot be read (${error.message})`, archive.name);
  });
  const { readArchive } = await import("@drover/server");
  return { path, ...(await readArchive(createReadStream(path))) };
}

async function verify(context: Context, args: Arguments): Promise<number> {
  const wanted = args.get("head");
  const { session, events, head, seal, files } = await read(context, args);
  if (wanted !== undefined && wanted !== head) {
    context.warn(`This is another archive: its head is ${head}`);
    return EXIT.failed;
  }
  const found = {
    sandbox_id: session.sandbox.id,
    state: session.sandbox.state,
    events,
    files: files.length,
    head,
    seal,
  };
  if (args.has("json")) context.print(JSON.stringify(found, null, 2));
  else
    context.print(
      `${found.sandbox_id} (${found.state}): ${events} events in ${files.length} files, as they were written\nhead ${head}`,
    );
  return EXIT.ok;
}

async function importOne(context: Context, args: Arguments): Promise<number> {
  const { path, seal } = await read(context, args);
  const project_id = args.get("project");
  const input = { params: { archive_id: seal }, query: project_id === undefined ? {} : { project_id } };
  const made = await connect(context, args).importArchive(input as never, {
    bytes: await openAsBlob(path),
    signal: context.signal,
  });
  context.print(args.has("json") ? JSON.stringify(made, null, 2) : made.id);
  return EXIT.ok;
}

const DEEDS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  export: exportOne,
  verify,
  import: importOne,
};

export const archive: Verb = {
  name: "archive",
  summary: "A session as one file: export it, verify it, import it elsewhere.",
  usage: "export <id> [--html] | verify <file> | import <file>",
  isRemote: true,
  flags: [
    { name: "output", short: "o", value: "path", doc: "With export: where to write it (<id>.drover.tar)." },
    { name: "html", doc: "With export: one page that any browser shows without a server (<id>.drover.html)." },
    { name: "head", value: "hash", doc: "With verify: the head that was written down when it was made." },
    { name: "project", value: "id", doc: "With import: the project it is to belong to." },
  ],
  details:
    "Verify needs no server: any byte that was changed, left out, added or moved is noticed, and it exits with 1. An imported session is a finished run that can be read and replayed. See docs/ARCHIVE.md.",
  async run(context, args) {
    const deed = DEEDS[args.positionals[0] ?? ""];
    if (deed === undefined) throw refuse();
    return deed(context, args);
  },
};
