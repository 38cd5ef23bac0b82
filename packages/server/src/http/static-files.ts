/** The web UI: files of the built app, and its shell for every page address. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import { AppError } from "@drover/contract";

const BACKEND_PATHS = /^\/(api|git|mcp|metrics|openapi\.json|healthz|readyz)(\/|$|\?)/;

export const isPagePath = (url: string): boolean => !BACKEND_PATHS.test(url);

export async function mountStaticFiles(app: FastifyInstance, root: string): Promise<void> {
  if (!existsSync(join(root, "index.html"))) {
    app.get("/", async () => {
      throw new AppError("server.not_ready", "the web UI is not built; run `npm run build`");
    });
    return;
  }
  await app.register(fastifyStatic, {
    root,
    wildcard: false,
    index: false,
    setHeaders: (reply, path) => {
      // Names of assets carry their hash; the shell does not.
      const isAsset = path.includes(`${join(root, "assets")}`);
      reply.header("cache-control", isAsset ? "public, max-age=31536000, immutable" : "no-cache");
    },
  });
  app.get("/", (_request, reply) => reply.sendFile("index.html"));
}
