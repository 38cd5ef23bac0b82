/** The whole documentation site as files in memory: pages, pictures, style and search. A link that leads nowhere is an error. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../steps.ts";
import { CHAPTERS } from "./contents.ts";
import { renderPage, toAddress, type Page } from "./render-page.ts";

const DOCS = join(ROOT, "docs");
const PARTS = join(import.meta.dirname, "site");
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'";

export interface SiteFile {
  readonly path: string;
  readonly content: string | Uint8Array;
}

const toNavigation = (current: Page): string =>
  CHAPTERS.map(({ title, pages }) => {
    const items = pages.map(([file, name]) => {
      const mark = file === current.file ? ' aria-current="page"' : "";
      return `<li><a href="${toAddress(file)}"${mark}>${name}</a></li>`;
    });
    return `<h2>${title}</h2><ul>${items.join("")}</ul>`;
  }).join("\n");

const toHtml = (page: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${page.title} · Drover</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="site.css">
<script src="search.js" defer></script>
</head>
<body>
<header><a href="index.html">Drover</a><input id="search" type="search" placeholder="Search" aria-label="Search the documentation"></header>
<ul id="found" hidden></ul>
<nav aria-label="Pages">${toNavigation(page)}</nav>
<main>${page.html}</main>
</body>
</html>
`;

function findDeadLinks(pages: readonly Page[], files: ReadonlySet<string>): readonly string[] {
  const anchors = new Map(pages.map((page) => [toAddress(page.file), new Set(page.headings.map(({ id }) => id))]));
  return pages.flatMap((page) =>
    page.links.flatMap((link) => {
      const [path = "", anchor] = link.split("#");
      const known = anchors.get(path);
      const isThere = anchor === undefined ? known !== undefined || files.has(path) : known?.has(anchor) === true;
      return isThere ? [] : `docs/${page.file} leads to ${link}, where nothing is`;
    }),
  );
}

export function buildSite(): readonly SiteFile[] {
  const listed = CHAPTERS.flatMap(({ pages }) => pages);
  const left = globSync("*.md", { cwd: DOCS }).filter((file) => !listed.some(([one]) => one === file));
  if (left.length > 0) throw new Error(`scripts/docs/contents.ts does not name ${left.join(", ")}`);
  const pages = listed.map(([file, title]) => renderPage(file, title, readFileSync(join(DOCS, file), "utf8")));
  const pictures = globSync("{images,screenshots}/*", { cwd: DOCS });
  const dead = findDeadLinks(pages, new Set(pictures));
  if (dead.length > 0) throw new Error(dead.join("\n"));
  const [first] = pages;
  if (first === undefined) throw new Error("there are no pages");
  const used = new Set(pages.flatMap(({ links }) => links));
  const index = pages.map(({ file, title, headings, text }) => ({ address: toAddress(file), title, headings, text }));
  return [
    ...pages.map((page) => ({ path: toAddress(page.file), content: toHtml(page) })),
    { path: "index.html", content: toHtml(first) },
    { path: "index.json", content: JSON.stringify(index) },
    ...["site.css", "search.js"].map((path) => ({ path, content: readFileSync(join(PARTS, path)) })),
    ...pictures.filter((path) => used.has(path)).map((path) => ({ path, content: readFileSync(join(DOCS, path)) })),
  ];
}
