/** The web UI: files of the built app as they are on disk now, and its shell for every page address. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply } from "fastify";
import { AppError } from "@drover/contract";
import { pickEncoding } from "./accepted-encoding.ts";
import { toPagePolicy } from "./security-headers.ts";

const BACKEND_PATHS = /^\/(api|git|mcp|metrics|openapi\.json|healthz|readyz)(\/|$|\?)/;

/** Whether an address that nothing answers is one of the app's pages: a file that is missing is not. */
export const isPagePath = (url: string): boolean => !BACKEND_PATHS.test(url) && !/\.\w+$/.test(url.split("?")[0] ?? "");

/** Where the shell wants its nonce: the build leaves it as it is. */
const NONCE_PLACE = 'nonce="__NONCE__"';
/** 128 bits: nobody guesses it. */
const NONCE_BYTES = 16;

/** Best first. The shell is two kilobytes, new for each answer: the quick settings do. */
const ENCODINGS = {
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes: Buffer) => gzipSync(bytes),
} as const;

export interface StaticFiles {
  sendShell(reply: FastifyReply): Promise<FastifyReply>;
}

/** Files are looked up when they are asked for: a build while the server runs brings other names, and may be the first. */
export async function mountStaticFiles(app: FastifyInstance, root: string): Promise<StaticFiles> {
  await mkdir(root, { recursive: true });
  const assets = join(root, "assets");
  await app.register(fastifyStatic, {
    root,
    index: false,
    // The build puts `.br` and `.gz` beside what gets smaller by it. Without them, as while developing, files go out as they are.
    preCompressed: true,
    setHeaders: (reply, path) => {
      // Names of assets carry their hash; the shell does not.
      reply.header("cache-control", path.startsWith(assets) ? "public, max-age=31536000, immutable" : "no-cache");
    },
  });
  const shell = join(root, "index.html");
  // Each answer has a nonce of its own, so none is ever "not modified".
  const sendShell = async (reply: FastifyReply) => {
    if (!existsSync(shell)) throw new AppError("server.not_ready", "the web UI is not built; run `npm run build`");
    const nonce = randomBytes(NONCE_BYTES).toString("base64");
    const page = Buffer.from((await readFile(shell, "utf8")).replace(NONCE_PLACE, `nonce="${nonce}"`));
    const encoding = pickEncoding(reply.request.headers["accept-encoding"], ["br", "gzip"]);
    if (encoding !== undefined) reply.header("content-encoding", encoding);
    return reply
      .headers({
        "content-security-policy": toPagePolicy(nonce),
        "cache-control": "no-cache",
        vary: "accept-encoding",
      })
      .type("text/html; charset=utf-8")
      .send(encoding === undefined ? page : ENCODINGS[encoding](page));
  };
  for (const address of ["/", "/index.html"]) app.get(address, (_request, reply) => sendShell(reply));
  return { sendShell };
}
