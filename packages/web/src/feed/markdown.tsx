/** Markdown as React elements. No HTML is ever made: tags are shown as text, images as chips that fetch nothing. */
import { ImageOff } from "lucide-react";
import { lexer, type Token, type Tokens } from "marked";
import { memo, useMemo, type ReactNode } from "react";
import { cx } from "../ui/class-names.ts";
import { CodeBlock } from "./code.tsx";

const SAFE_LINK = /^(?:https?:\/\/|mailto:)/i;
/** Longer messages are cut for display; the row offers the rest. */
export const MARKDOWN_LIMIT = 40_000;
/** Quotes in quotes and lists in lists beyond this are shown as text: nobody writes them by accident. */
const DEPTH_LIMIT = 16;

const decode = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

/** Where a link really leads, whatever its words say. */
const toPlace = (href: string): string => {
  const url = URL.parse(href);
  return url === null ? href : url.host || url.pathname;
};

function Inline({
  tokens,
  fallback = "",
}: {
  readonly tokens: readonly Token[] | undefined;
  readonly fallback?: string;
}): ReactNode {
  if (tokens === undefined) return decode(fallback);
  return tokens.map((token, at) => <InlineToken key={at} token={token} />);
}

function InlineToken({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case "strong":
      return (
        <strong className="font-semibold">
          <Inline tokens={token.tokens} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inline tokens={token.tokens} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inline tokens={token.tokens} />
        </del>
      );
    case "codespan":
      return (
        <code className="rounded bg-sunken px-1 py-px font-mono text-[0.86em] break-words">
          {decode((token as Tokens.Codespan).text)}
        </code>
      );
    case "br":
      return <br />;
    case "link": {
      const link = token as Tokens.Link;
      if (!SAFE_LINK.test(link.href)) return <Inline tokens={link.tokens} fallback={link.text} />;
      return (
        <a
          href={link.href}
          target="_blank"
          rel="noopener noreferrer"
          title={link.href}
          className="font-medium text-live-ink underline decoration-live/50 underline-offset-2 break-words hover:decoration-live"
        >
          <Inline tokens={link.tokens} fallback={link.text} />
          {link.text !== link.href && <span className="text-xs font-normal text-ink-3"> ({toPlace(link.href)})</span>}
        </a>
      );
    }
    case "image": {
      const image = token as Tokens.Image;
      return (
        <span
          className="inline-flex max-w-full items-center gap-1 rounded bg-sunken px-1.5 py-px text-xs text-ink-2"
          title={image.href}
        >
          <ImageOff size={12} aria-hidden />{" "}
          <span className="truncate">image not loaded: {image.text || image.href}</span>
        </span>
      );
    }
    default:
      return "tokens" in token && token.tokens !== undefined ? (
        <Inline tokens={token.tokens} />
      ) : (
        decode("text" in token ? String(token.text) : token.raw)
      );
  }
}

const HEADINGS = ["text-lg", "text-base", "text-base", "text-sm", "text-sm", "text-sm"] as const;

/** A block is drawn again only when its own text changes, so a message that grows costs its last block. */
const Block = memo(
  function Block({ token, depth }: { readonly token: Token; readonly depth: number }): ReactNode {
    switch (token.type) {
      case "space":
        return null;
      case "hr":
        return <hr className="my-3 border-line" />;
      case "heading": {
        const heading = token as Tokens.Heading;
        return (
          <p
            role="heading"
            aria-level={Math.min(6, heading.depth + 2)}
            className={cx("mt-3 mb-1 font-semibold tracking-tight first:mt-0", HEADINGS[heading.depth - 1])}
          >
            <Inline tokens={heading.tokens} />
          </p>
        );
      }
      case "code": {
        const code = token as Tokens.Code;
        return (
          <pre
            tabIndex={0}
            role="group"
            aria-label={code.lang ? `Code, ${code.lang}` : "Code"}
            className="my-2 max-h-96 overflow-auto rounded-lg border border-line bg-sunken px-3 py-2 font-mono text-xs leading-relaxed"
          >
            <code>
              <CodeBlock text={code.text} path={code.lang ?? ""} />
            </code>
          </pre>
        );
      }
      case "blockquote":
        return (
          <blockquote className="my-2 border-l-2 border-line-strong pl-3 text-ink-2">
            <Blocks tokens={(token as Tokens.Blockquote).tokens} depth={depth + 1} />
          </blockquote>
        );
      case "list":
        return <List list={token as Tokens.List} depth={depth + 1} />;
      case "table":
        return <Table table={token as Tokens.Table} />;
      case "html":
        return (
          <p className="my-1.5 font-mono text-xs break-words whitespace-pre-wrap text-ink-2">{token.raw.trim()}</p>
        );
      case "paragraph":
        return (
          <p className="my-1.5 break-words first:mt-0 last:mb-0">
            <Inline tokens={(token as Tokens.Paragraph).tokens} />
          </p>
        );
      default:
        return "tokens" in token ? <Inline tokens={token.tokens} /> : decode(token.raw);
    }
  },
  (before, after) => before.token.raw === after.token.raw && before.token.type === after.token.type,
);

function Blocks({ tokens, depth }: { readonly tokens: readonly Token[]; readonly depth: number }): ReactNode {
  if (depth > DEPTH_LIMIT) return tokens.map((token) => token.raw).join("");
  return tokens.map((token, at) => <Block key={at} token={token} depth={depth} />);
}

function List({ list, depth }: { readonly list: Tokens.List; readonly depth: number }): ReactNode {
  const items = list.items.map((item, at) => (
    <li key={at} className={cx("my-0.5", item.task && "list-none -ml-5 flex gap-2")}>
      {item.task && (
        <input
          type="checkbox"
          checked={item.checked === true}
          readOnly
          disabled
          aria-label={item.checked ? "done" : "open"}
        />
      )}
      <div className="inline min-w-0">
        <Blocks tokens={item.tokens} depth={depth} />
      </div>
    </li>
  ));
  return list.ordered ? (
    <ol start={Number(list.start) || 1} className="my-1.5 list-decimal pl-6 marker:text-ink-3">
      {items}
    </ol>
  ) : (
    <ul className="my-1.5 list-disc pl-5 marker:text-ink-3">{items}</ul>
  );
}

function Table({ table }: { readonly table: Tokens.Table }): ReactNode {
  return (
    <div
      className="my-2 max-w-full overflow-x-auto rounded-lg border border-line"
      tabIndex={0}
      role="group"
      aria-label="Table"
    >
      <table className="w-full text-left text-sm">
        <thead className="bg-sunken">
          <tr>
            {table.header.map((cell, at) => (
              <th key={at} scope="col" className="px-3 py-1.5 font-semibold">
                <Inline tokens={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {table.rows.map((row, line) => (
            <tr key={line}>
              {row.map((cell, at) => (
                <td key={at} className="px-3 py-1.5 align-top">
                  <Inline tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function parse(text: string): readonly Token[] {
  try {
    return lexer(text, { gfm: true, breaks: true });
  } catch {
    // Expected: hostile nesting exhausts the parser's stack. Then it is plain text.
    return [{ type: "text", raw: text, text }];
  }
}

export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const tokens = useMemo(() => parse(text.slice(0, MARKDOWN_LIMIT)), [text]);
  return (
    <div className="max-w-[46rem] text-[0.9375rem] leading-relaxed">
      <Blocks tokens={tokens} depth={0} />
    </div>
  );
});
