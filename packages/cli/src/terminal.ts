/** Text for people: colour only where it is wanted, and nothing that could steer their terminal. */

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;

/** https://no-color.org: any value that is not empty switches colour off. */
export function toPaint(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const isPlain = !isTerminal || (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  const brush =
    ([on, off]: readonly [number, number]) =>
    (text: string) =>
      isPlain ? text : `\u001B[${on}m${text}\u001B[${off}m`;
  return {
    bold: brush(CODES.bold),
    dim: brush(CODES.dim),
    red: brush(CODES.red),
    green: brush(CODES.green),
    yellow: brush(CODES.yellow),
  };
}

/** What agents and repositories wrote may hold escape sequences and bidirectional overrides: they are taken out. */
export const toSafeText = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    .replaceAll(/\u001B\][^\u0007\u001B]*(?:\u0007|\u001B\\)|\u001B\[[0-?]*[ -/]*[@-~]/g, "")
    // oxlint-disable-next-line no-control-regex -- as above; line feeds and tabs stay
    .replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, "");

/** One line of it. */
export const toSafeLine = (text: string): string => toSafeText(text).replaceAll(/\s+/g, " ").trim();

export function cut(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** Breaks between words, so that no line is wider. */
export function wrap(text: string, width: number): readonly string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [""];
    for (const word of paragraph.split(" ")) {
      const line = lines.at(-1) ?? "";
      const longer = line === "" ? word : `${line} ${word}`;
      if (Array.from(longer).length <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines
      .filter((line, index) => line !== "" || index > 0 || lines.length === 1)
      .map((line) => cut(line, width));
  });
}
