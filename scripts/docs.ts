/** Writes the documentation site: `npm run docs`, into `dist/docs` unless another folder is named. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildSite } from "./docs/build-site.ts";
import { ROOT } from "./steps.ts";

const folder = resolve(process.argv[2] ?? join(ROOT, "dist/docs"));
const files = buildSite();
if (process.argv[2] === undefined) rmSync(folder, { recursive: true, force: true });
for (const { path, content } of files) {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
}
console.log(`${files.length} files in ${folder}; open ${join(folder, "index.html")}, or serve the folder`);
