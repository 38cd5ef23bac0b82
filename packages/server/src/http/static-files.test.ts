import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { isPagePath, mountStaticFiles } from "./static-files.ts";

test("a build while the server runs is served, also the first one", async () => {
  const root = await mkdtemp(join(tmpdir(), "drover-static-"));
  const app = Fastify();
  onTestFinished(async () => {
    await app.close();
    await rm(root, { recursive: true, force: true });
  });
  app.setNotFoundHandler((request, reply) =>
    isPagePath(request.url) ? pages.sendShell(reply) : reply.status(404).send("none"),
  );
  const pages = await mountStaticFiles(app, root);
  const get = (url: string) => app.inject({ method: "GET", url });
  expect((await get("/")).statusCode).toBe(500);
  for (const build of ["one", "two"]) {
    await mkdir(join(root, "assets"), { recursive: true });
    await writeFile(join(root, "assets", `${build}.js`), build);
    await writeFile(join(root, "index.html"), `<p>${build}</p>`);
    for (const page of ["/", "/sandboxes/drover-00000000-000000"]) {
      const shell = await get(page);
      expect([shell.statusCode, shell.body, shell.headers["cache-control"]]).toEqual([
        200,
        `<p>${build}</p>`,
        "no-cache",
      ]);
    }
    const asset = await get(`/assets/${build}.js`);
    expect([asset.statusCode, asset.body]).toEqual([200, build]);
    expect(asset.headers["cache-control"]).toContain("immutable");
  }
  for (const path of ["/assets/none.js", "/api/v1/nothing", "/../../etc/passwd.txt", "/%2e%2e/%2e%2e/etc/hosts.txt"])
    expect((await get(path)).statusCode, path).toBe(404);
});
