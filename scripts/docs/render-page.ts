/** One page of the documentation: Markdown to HTML, with headings that can be linked to and links that lead somewhere. */
import { posix } from "node:path";
import { Marked, type Tokens } from "marked";

export interface Page {
  /** Below `docs/`. */
  readonly file: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly { readonly id: string; readonly text: string; readonly depth: number }[];
  /** Where its links and pictures lead, as paths below the site, with the heading after `#`. */
  readonly links: readonly string[];
  readonly text: string;
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** As GitHub has them, so that a link works in both places. */
const toId = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

export const toAddress = (file: string): string => file.toLowerCase().replace(/\.md$/, ".html");

const isForeign = (href: string): boolean => /^https?:/.test(href);

/** A path below the site for one that is written in a page; what lies outside `docs/` has none. */
function toTarget(file: string, href: string): string {
  const [path = "", anchor] = href.split("#");
  const below = path === "" ? file : posix.join(posix.dirname(file), path);
  return toAddress(below) + (anchor === undefined ? "" : `#${anchor}`);
}

export function renderPage(file: string, title: string, markdown: string): Page {
  const headings: { id: string; text: string; depth: number }[] = [];
  const links: string[] = [];
  const follow = (href: string) => {
    if (isForeign(href)) return href;
    const target = toTarget(file, href);
    links.push(target);
    return target;
  };
  const marked = new Marked({
    renderer: {
      // What looks like HTML is shown as it was written, but for the pictures and comments that GitHub needs.
      html: ({ text }: Tokens.HTML | Tokens.Tag) => (text.startsWith("<!--") ? "" : escape(text)),
      heading({ tokens, depth, text }: Tokens.Heading) {
        const id = toId(text.replaceAll("`", ""));
        headings.push({ id, text: text.replaceAll("`", ""), depth });
        return `<h${depth} id="${escape(id)}"><a href="#${escape(id)}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        return `<a href="${escape(follow(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      image: ({ href, text }: Tokens.Image) =>
        `<img src="${escape(follow(href))}" alt="${escape(text)}" loading="lazy">`,
      table({ header, rows }: Tokens.Table) {
        const line = (cells: readonly Tokens.TableCell[], tag: "td" | "th") =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join("")}</tr>`;
        const body = rows.map((row) => line(row, "td")).join("\n");
        return `<div class="wide"><table><thead>${line(header, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  const text = html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  return { file, title, html, headings, links, text };
}
