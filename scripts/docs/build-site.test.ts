/** The documentation site is whole: every page of `docs/` is in it, every link leads somewhere, and nothing in it runs but its search. */
import { expect, test } from "vitest";
import { buildSite } from "./build-site.ts";
import { renderPage } from "./render-page.ts";

const site = buildSite();
const pages = site.filter(({ path }) => path.endsWith(".html"));

test("every page has its title, the whole navigation and no script of its own", () => {
  expect(pages.length).toBeGreaterThan(15);
  for (const { path, content } of pages) {
    const html = String(content);
    expect(html, path).toMatch(/<title>[^<]+ · Drover<\/title>/);
    expect(html, path).toContain('href="security.html"');
    expect(html.match(/<script[^>]*>/g), path).toEqual(['<script src="search.js" defer>']);
    expect(html, path).not.toMatch(/ on\w+=/);
  }
});

test("the index holds every page's words", () => {
  const index = JSON.parse(String(site.find(({ path }) => path === "index.json")?.content)) as {
    address: string;
    text: string;
  }[];
  expect(index.map(({ address }) => address)).toContain("quickstart.html");
  expect(index.every(({ text }) => text.length > 200)).toBe(true);
});

test("links become addresses of the site, headings get GitHub's ids, and HTML stays text", () => {
  const page = renderPage(
    "A.md",
    "A",
    "# What `it` is, now\n\n[b](B.md#c-d) [out](https://example.org/x.md) <script>x</script>\n",
  );
  expect(page.headings).toEqual([{ id: "what-it-is-now", text: "What it is, now", depth: 1 }]);
  expect(page.links).toEqual(["b.html#c-d"]);
  expect(page.html).toContain('<a href="b.html#c-d">b</a> <a href="https://example.org/x.md">out</a>');
  expect(page.html).not.toContain("<script>");
});
