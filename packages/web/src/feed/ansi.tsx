/** Terminal output as text with colours: escape sequences that do more than colour are taken out, and nothing becomes HTML. */
import Anser from "anser";
import { memo } from "react";
import { cx } from "../ui/class-names.ts";

const ESC = "\u001B";
/** Titles and links of terminals: from ESC ] to BEL or ESC \. */
const OSC = new RegExp(`${ESC}\\][^\\u0007${ESC}]*(?:\\u0007|${ESC}\\\\)?`, "g");
const CSI_NOT_COLOUR = new RegExp(`${ESC}\\[[0-9;:?<=>!]*[ -/]*[@-ln-~]`, "g");
const OTHER_ESC = new RegExp(`${ESC}(?!\\[)[@-_a-z0-9()]?.?`, "g");
// oxlint-disable-next-line no-control-regex -- control characters are what is taken out here
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001A\u001C-\u001F\u007F]/g;

/** A progress bar overwrites its line: only what stood there last is kept. */
const settle = (line: string): string => {
  const trimmed = line.endsWith("\r") ? line.slice(0, -1) : line;
  const at = trimmed.lastIndexOf("\r");
  return at === -1 ? trimmed : trimmed.slice(at + 1);
};

export const toOutputLines = (output: string): readonly string[] => {
  const lines = output.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

const DECORATION: Readonly<Record<string, string>> = {
  bold: "font-bold",
  italic: "italic",
  underline: "underline",
  dim: "opacity-80",
  strikethrough: "line-through",
};

/** One for all lines: making one makes its 256 colours. */
const parser = new Anser();
/** So a line begins without the colours of the one before. */
const RESET = `${ESC}[0m`;

const toColour = (rgb: string | null | undefined): string | undefined =>
  rgb === null || rgb === undefined ? undefined : `color-mix(in oklab, rgb(${rgb}) 60%, var(--ink))`;

const toCleanLine = (line: string): string =>
  settle(line).replace(OSC, "").replace(CSI_NOT_COLOUR, "").replace(OTHER_ESC, "").replace(CONTROL, "");

const COLOUR = new RegExp(`${ESC}(?:\\[[0-9;:]*m)?`, "g");

/** What a person reads: to be searched, and copied without anything that another terminal would obey. */
export const toPlainLine = (line: string): string => toCleanLine(line).replace(COLOUR, "");

export const AnsiLine = memo(function AnsiLine({ line }: { readonly line: string }) {
  const clean = toCleanLine(line);
  if (!clean.includes(ESC)) return clean;
  return parser.ansiToJson(RESET + clean, { json: true, use_classes: true, remove_empty: true }).map((part, at) => (
    <span
      key={at}
      className={cx(
        part.fg && `${part.fg}-fg`,
        part.bg && `${part.bg}-bg`,
        ...part.decorations.map((name) => DECORATION[name]),
      )}
      style={{ color: toColour(part.fg_truecolor) }}
    >
      {part.content.replaceAll(ESC, "")}
    </span>
  ));
});
