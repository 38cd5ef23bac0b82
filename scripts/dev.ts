/** The server, restarted at every change, behind Vite's development server, which replaces modules in the open page. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createServer } from "vite";
import { WEB_ROOT } from "./bundles.ts";
import { ROOT } from "./steps.ts";

const host = "127.0.0.1";
const port = process.env.DROVER_PORT ?? "18000";
const target = `http://${host}:${port}`;

const server = spawn(
  process.execPath,
  ["--watch", "packages/cli/src/main.ts", "up", "--host", host, "--port", port, ...process.argv.slice(2)],
  { cwd: ROOT, stdio: "inherit" },
);

// The server refuses foreign hosts and origins; to it, a page of the development server is its own.
const proxy = { target, changeOrigin: true, ws: true, headers: { origin: target } };
const web = await createServer({ root: join(ROOT, WEB_ROOT), server: { host, proxy: { "/api": proxy } } });
await web.listen();
web.printUrls();

server.once("exit", (code) => {
  process.exitCode = code ?? 0;
  void web.close();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => server.kill(signal));
