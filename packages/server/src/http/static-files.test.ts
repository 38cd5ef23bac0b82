import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { compressFiles } from "../../../../scripts/compress-files.ts";
import { SECURITY_HEADERS, toPagePolicy } from "./security-headers.ts";
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

test("a file goes out in the best form that the browser takes, as what it is and with every header", async () => {
  const root = await mkdtemp(join(tmpdir(), "drover-static-"));
  const app = Fastify();
  onTestFinished(async () => {
    await app.close();
    await rm(root, { recursive: true, force: true });
  });
  app.addHook("onRequest", async (_request, reply) => void reply.headers(SECURITY_HEADERS));
  app.setNotFoundHandler((_request, reply) => pages.sendShell(reply));
  const pages = await mountStaticFiles(app, root);
  const files = {
    "index.html": ["text/html; charset=utf-8", `<p>${"shell ".repeat(500)}</p>`],
    "assets/page.js": ["application/javascript; charset=utf-8", "export {};".repeat(500)],
    "assets/page.css": ["text/css; charset=utf-8", "p { margin: 0 }".repeat(500)],
    "assets/small.js": ["application/javascript; charset=utf-8", "export {};"],
  } as const;
  await mkdir(join(root, "assets"));
  for (const [file, [, text]] of Object.entries(files)) await writeFile(join(root, file), text);
  await compressFiles(root);

  const policy = SECURITY_HEADERS["content-security-policy"];
  const withNonce: unknown = expect.stringMatching(/; style-src 'self' 'nonce-[\w+/]{22}=='; /);
  const get = (url: string, accepted: string | undefined) =>
    app.inject({ method: "GET", url, headers: accepted === undefined ? {} : { "accept-encoding": accepted } });
  const unpack = { br: brotliDecompressSync, gzip: gunzipSync, none: (bytes: Buffer) => bytes };
  for (const [file, [type, text]] of Object.entries(files))
    for (const [accepted, encoding] of [
      ["gzip, deflate, br, zstd", "br"],
      ["br", "br"],
      ["gzip", "gzip"],
      ["br;q=0, gzip", "gzip"],
      ["identity", "none"],
      [undefined, "none"],
    ] as const) {
      const url = file === "index.html" ? "/" : `/${file}`;
      const sent = file === "assets/small.js" ? "none" : encoding;
      for (const address of file === "index.html" ? [url, "/wall"] : [url]) {
        const answer = await get(address, accepted);
        const told = `${address}, ${accepted ?? "nothing said"}`;
        expect(answer.statusCode, told).toBe(200);
        expect(answer.headers["content-encoding"] ?? "none", told).toBe(sent);
        expect(unpack[sent](answer.rawPayload).toString(), told).toBe(text);
        expect(answer.headers, told).toMatchObject({
          ...SECURITY_HEADERS,
          "content-security-policy": file === "index.html" ? withNonce : policy,
          "content-type": type,
          "content-length": String(answer.rawPayload.length),
          "cache-control": file === "index.html" ? "no-cache" : "public, max-age=31536000, immutable",
          vary: "accept-encoding",
        });
        if (sent !== "none") expect(answer.rawPayload.length, told).toBeLessThan(text.length);
      }
    }
  const known = await get("/assets/page.js", "br");
  const again = await app.inject({
    url: "/assets/page.js",
    headers: { "accept-encoding": "br", "if-none-match": String(known.headers["etag"]) },
  });
  expect([again.statusCode, again.headers["vary"]]).toEqual([304, "accept-encoding"]);
  expect((await get("/assets/page.js", "gzip")).headers["etag"]).not.toBe(known.headers["etag"]);
});

test("no answer allows inline styles: the page names those it makes by a nonce that no other answer has", async () => {
  const root = await mkdtemp(join(tmpdir(), "drover-static-"));
  const app = Fastify();
  onTestFinished(async () => {
    await app.close();
    await rm(root, { recursive: true, force: true });
  });
  app.addHook("onRequest", async (_request, reply) => void reply.headers(SECURITY_HEADERS));
  app.setNotFoundHandler((_request, reply) => pages.sendShell(reply));
  const pages = await mountStaticFiles(app, root);
  const source = await readFile(join(import.meta.dirname, "../../../web/index.html"), "utf8");
  await writeFile(join(root, "index.html"), source);
  const seen = new Set<string>();
  for (const url of ["/", "/", "/wall", "/index.html"]) {
    const { body, headers } = await app.inject({ method: "GET", url });
    const nonce = / nonce="([^"]+)"/.exec(body)?.[1] ?? "none";
    expect(headers["content-security-policy"]).toBe(toPagePolicy(nonce));
    expect([headers["etag"], headers["last-modified"]]).toEqual([undefined, undefined]);
    seen.add(nonce);
  }
  expect(seen.size).toBe(4);
  for (const policy of [SECURITY_HEADERS["content-security-policy"], toPagePolicy("one")])
    expect(policy).not.toContain("'unsafe-");
});
