/** The web UI: files of the built app as they are on disk now, and its shell for every page address. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply } from "fastify";
import { AppError } from "@drover/contract";

const BACKEND_PATHS = /^\/(api|git|mcp|metrics|openapi\.json|healthz|readyz)(\/|$|\?)/;

/** Whether an address that nothing answers is one of the app's pages: a file that is missing is not. */
export const isPagePath = (url: string): boolean => !BACKEND_PATHS.test(url) && !/\.\w+$/.test(url.split("?")[0] ?? "");

export interface StaticFiles {
  sendShell(reply: FastifyReply): FastifyReply;
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
  const sendShell = (reply: FastifyReply) => {
    if (existsSync(join(root, "index.html"))) return reply.sendFile("index.html");
    throw new AppError("server.not_ready", "the web UI is not built; run `npm run build`");
  };
  app.get("/", (_request, reply) => sendShell(reply));
  return { sendShell };
}
