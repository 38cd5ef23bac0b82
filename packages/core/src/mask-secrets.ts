/** Takes secrets out of text: those that are known, and what looks like one. */

/** None is longer than `MASK_REACH` characters, so that text can be looked at in pieces. */
const PATTERNS: readonly string[] = [
  String.raw`drv_[a-z]_[\w-]{8,200}`,
  String.raw`sk-[A-Za-z0-9_-]{16,400}`,
  String.raw`gh[a-z]_[A-Za-z0-9]{20,300}`,
  String.raw`github_pat_\w{20,300}`,
  String.raw`AKIA[0-9A-Z]{16}`,
  String.raw`AIza[\w-]{30,100}`,
  String.raw`xox[a-z]-[\w-]{10,300}`,
  String.raw`whsec_[A-Za-z0-9+/=]{16,200}`,
  String.raw`-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{1,6000}-----END [A-Z ]{0,40}PRIVATE KEY-----`,
];

const MASK_REACH = 8_192;
const MASKED = "***";
/** Shorter words stand in text that has nothing to do with them. */
const SHORTEST = 8;

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);

/** Also as it stands inside a JSON text. */
const toForms = (literal: string): readonly string[] => [literal, JSON.stringify(literal).slice(1, -1)];

export interface SecretMask {
  /** Of whole text. */
  mask(text: string): string;
  /** Of text that comes in pieces; the last call has `isEnd`. What is given back has been looked at. */
  openPieces(): (piece: string, isEnd: boolean) => { readonly text: string; readonly isChanged: boolean };
}

export function createSecretMask(literals: readonly string[]): SecretMask {
  const known = [
    ...new Set(literals.filter(({ length }) => length >= SHORTEST && length < MASK_REACH / 4).flatMap(toForms)),
  ];
  const longestFirst = known.toSorted((a, b) => b.length - a.length).map(escape);
  const source = [...longestFirst, ...PATTERNS].join("|");
  const mask = (text: string) => text.replaceAll(new RegExp(source, "g"), MASKED);
  return {
    mask,
    openPieces: () => {
      let kept = "";
      return (piece, isEnd) => {
        const text = kept + piece;
        let cut = isEnd ? text.length : Math.max(0, text.length - MASK_REACH);
        // What reaches over the cut is left to the next piece.
        for (const { index, 0: found } of text.matchAll(new RegExp(source, "g")))
          if (index < cut && index + found.length > cut) cut = index;
        kept = text.slice(cut);
        const before = text.slice(0, cut);
        const after = mask(before);
        return { text: after, isChanged: after !== before };
      };
    },
  };
}

/** Every text in a JSON value, keys too. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), mapTexts(item, change)]));
}
