/** Files as Daytona's toolbox serves them. It follows links: they lead nowhere but into the sandbox itself. */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Refusal, type Route } from "./http-answer.ts";

const BOUNDARY = "DAYTONA-FILE-BOUNDARY";

/** As Go writes a mode: https://pkg.go.dev/io/fs#FileMode. */
function toGoMode(stat: Stats): string {
  const kinds = [
    ["d", stat.isDirectory()],
    ["p", stat.isFIFO()],
    ["S", stat.isSocket()],
    ["Dc", stat.isCharacterDevice()],
    ["D", stat.isBlockDevice()],
  ] as const;
  const kind = kinds.find(([, isOne]) => isOne)?.[0] ?? "-";
  const letters = Array.from("rwxrwxrwx", (letter, index) => ((stat.mode >> (8 - index)) & 1 ? letter : "-"));
  return kind + letters.join("");
}

function toFileInfo(path: string) {
  const stat = statSync(path);
  return {
    name: basename(path),
    size: stat.size,
    isDir: stat.isDirectory(),
    mode: toGoMode(stat),
    modTime: stat.mtime.toISOString(),
    modifiedAt: stat.mtime.toISOString(),
    owner: String(stat.uid),
    group: String(stat.gid),
    permissions: (stat.mode & 0o777).toString(8).padStart(4, "0"),
  };
}

/** Errors of the file system, as the toolbox answers them. */
function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (code === "ENOENT") return new Refusal(404, message, "FILE_NOT_FOUND");
  if (code === "EACCES" || code === "EPERM") return new Refusal(403, message, "FILE_ACCESS_DENIED");
  return new Refusal(400, message, "BAD_REQUEST");
}

const guarded = (route: Route): Route => ({
  ...route,
  answer: async (asked) => {
    try {
      return await route.answer(asked);
    } catch (error) {
      throw toRefusal(error);
    }
  },
});

/** Over the file that a link leads to, and in one step. */
function writeWhole(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.upload-${randomUUID()}`);
  writeFileSync(temporary, bytes, { mode: 0o644 });
  try {
    const target = statSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** https://www.rfc-editor.org/rfc/rfc5987 */
const toParameter = (text: string) =>
  encodeURIComponent(text).replaceAll(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);

const toPart = (name: "file" | "error", path: string, type: string, bytes: Buffer) =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename*=utf-8''${toParameter(path)}\r\n` +
        `Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
    ),
    bytes,
    Buffer.from("\r\n"),
  ]);

function downloadPart(path: string): Buffer {
  try {
    if (!statSync(path).isFile()) throw new Refusal(400, `not a file: ${path}`, "BAD_REQUEST");
    return toPart("file", path, "application/octet-stream", readFileSync(path));
  } catch (error) {
    const { status, message, code } = toRefusal(error);
    const body = { statusCode: status, message, code, source: "DAYTONA_DAEMON" };
    return toPart("error", path, "application/json", Buffer.from(JSON.stringify(body)));
  }
}

const pathOf = ({ searchParams }: URL) => resolve(searchParams.get("path") ?? ".");

const ROUTES: readonly Route[] = [
  {
    method: "POST",
    path: /^\/files\/bulk-upload$/,
    answer: async ({ headers, bytes }) => {
      const form = await new Response(Uint8Array.from(bytes), {
        headers: { "content-type": headers["content-type"] ?? "" },
      }).formData();
      for (const [name, path] of form) {
        const index = /^files\[(\d+)\]\.path$/.exec(name)?.[1];
        const file = form.get(`files[${index}].file`);
        if (index === undefined && /^files\[\d+\]\.file$/.test(name)) continue;
        if (typeof path !== "string" || file === null || typeof file === "string")
          throw new Refusal(400, `not a part of an upload: ${name}`, "BAD_REQUEST");
        writeWhole(path, Buffer.from(await file.arrayBuffer()));
      }
      return { status: 200, body: {} };
    },
  },
  {
    method: "POST",
    path: /^\/files\/bulk-download$/,
    answer: ({ json }) => {
      const parts = (json()["paths"] as readonly string[]).map(downloadPart);
      const bytes = Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
      return { status: 200, raw: { type: `multipart/form-data; boundary=${BOUNDARY}`, bytes } };
    },
  },
  { method: "GET", path: /^\/files\/info$/, answer: ({ url }) => ({ status: 200, body: toFileInfo(pathOf(url)) }) },
  {
    method: "GET",
    path: /^\/files$/,
    answer: ({ url }) => {
      const directory = pathOf(url);
      const names = readdirSync(directory).filter((name) => statSync(join(directory, name), { throwIfNoEntry: false }));
      return { status: 200, body: names.map((name) => toFileInfo(join(directory, name))) };
    },
  },
  {
    method: "POST",
    path: /^\/files\/permissions$/,
    answer: ({ url }) => {
      const mode = url.searchParams.get("mode");
      if (mode !== null) chmodSync(pathOf(url), Number.parseInt(mode, 8));
      return { status: 200 };
    },
  },
];

export const FILE_ROUTES = ROUTES.map(guarded);
