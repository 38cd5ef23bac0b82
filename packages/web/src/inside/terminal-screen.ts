/** A terminal emulator on the page. What a sandbox prints may draw on it and nothing else: no clipboard, no links, no titles, no answers to queries. */
import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";

const FONT = '"JetBrains Mono Variable", ui-monospace, Menlo, monospace';

/** The page's own paper and ink; a terminal's parser wants plain colours. */
const LIGHT: ITheme = {
  background: "#fdfcf8",
  foreground: "#16241c",
  cursor: "#1f7a58",
  cursorAccent: "#fdfcf8",
  selectionBackground: "#cfe9da",
  black: "#16241c",
  red: "#a92716",
  green: "#0c6b4a",
  yellow: "#7a5200",
  blue: "#1f5796",
  magenta: "#7a3f8f",
  cyan: "#0f6674",
  white: "#5c665f",
  brightBlack: "#5c665f",
  brightRed: "#a92716",
  brightGreen: "#0c6b4a",
  brightYellow: "#7a5200",
  brightBlue: "#1f5796",
  brightMagenta: "#7a3f8f",
  brightCyan: "#0f6674",
  brightWhite: "#16241c",
};
const DARK: ITheme = {
  background: "#0d1511",
  foreground: "#ecebe3",
  cursor: "#5fd1a1",
  cursorAccent: "#0d1511",
  selectionBackground: "#1f4a38",
  black: "#8d988f",
  red: "#f09a86",
  green: "#6fdcae",
  yellow: "#e8c27a",
  blue: "#93c1f2",
  magenta: "#cfa8e0",
  cyan: "#7fd3de",
  white: "#c9cdc4",
  brightBlack: "#8d988f",
  brightRed: "#f5b0a0",
  brightGreen: "#8be8c0",
  brightYellow: "#f1d495",
  brightBlue: "#b0d3f7",
  brightMagenta: "#ddc0ea",
  brightCyan: "#a0e2ea",
  brightWhite: "#ffffff",
};

/** The emulator says a cell's colour as the text of a style attribute, which the page's policy refuses; the same through the object model is none. */
HTMLSpanElement.prototype.setAttribute = function (this: HTMLSpanElement, name: string, value: string) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
};

/** Titles, colours, links, the clipboard, notices, and what other emulators invented. */
const SILENCED_OSC = [0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 50, 52, 104, 110, 111, 112, 133, 633, 777, 1337];
/** Queries whose answer would be typed into the shell, and pictures. */
const SILENCED_DCS = [{ intermediates: "$", final: "q" }, { intermediates: "+", final: "q" }, { final: "q" }];
/** Reports and changes of the window. */
const SILENCED_CSI = [
  { final: "t" },
  { intermediates: "$", final: "p" },
  { prefix: "?", intermediates: "$", final: "p" },
];

export interface Screen {
  readonly terminal: Terminal;
  readonly fit: () => { readonly columns: number; readonly rows: number };
  readonly paint: (isDark: boolean) => void;
  readonly close: () => void;
}

interface ScreenOptions {
  readonly place: HTMLElement;
  readonly isDark: boolean;
  /** Nobody types: it plays what was recorded, in the recording's own size. */
  readonly size?: { readonly columns: number; readonly rows: number };
}

export async function openScreen({ place, isDark, size }: ScreenOptions): Promise<Screen> {
  // The width of a character is measured once, so the font must be there before.
  await document.fonts.load(`13px ${FONT}`);
  const terminal = new Terminal({
    fontFamily: FONT,
    fontSize: 13,
    lineHeight: 1.2,
    scrollback: 10_000,
    theme: isDark ? DARK : LIGHT,
    // The page has no way to allow a link that a sandbox printed.
    linkHandler: { activate: () => undefined },
    minimumContrastRatio: 4.5,
    disableStdin: size !== undefined,
    ...(size === undefined ? {} : { cols: size.columns, rows: size.rows, cursorInactiveStyle: "none" as const }),
  });
  for (const ident of SILENCED_OSC) terminal.parser.registerOscHandler(ident, () => true);
  for (const id of SILENCED_DCS) terminal.parser.registerDcsHandler(id, () => true);
  for (const id of SILENCED_CSI) terminal.parser.registerCsiHandler(id, () => true);
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  terminal.open(place);
  return {
    terminal,
    fit: () => {
      fitting.fit();
      return { columns: terminal.cols, rows: terminal.rows };
    },
    paint: (dark) => {
      terminal.options.theme = dark ? DARK : LIGHT;
    },
    close: () => terminal.dispose(),
  };
}
