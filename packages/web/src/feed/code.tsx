/** Code in its colours: lines of a file, of a patch, of a fence. */
import {
  readCodeLine,
  toLanguage,
  type CodeKind,
  type CodeState,
  type DiffLine,
  type Language,
} from "@drover/contract/views";
import { memo, useMemo, type ReactNode } from "react";

const LOOKS: Readonly<Record<CodeKind, string>> = {
  comment: "text-ink-3",
  string: "text-done-ink",
  number: "text-wait-ink",
  keyword: "text-mind",
};

interface CodeTextProps {
  readonly text: string;
  readonly language: Language | undefined;
  /** What the line begins within. */
  readonly state?: CodeState | undefined;
}

export const CodeText = memo(function CodeText({ text, language, state }: CodeTextProps): ReactNode {
  if (language === undefined) return text;
  return readCodeLine(text, language, state).pieces.map((piece, at) =>
    piece.kind === undefined ? (
      piece.text
    ) : (
      <span key={at} className={LOOKS[piece.kind]}>
        {piece.text}
      </span>
    ),
  );
});

/** Of a longer text only what stands on a line decides about its colours. */
const FOLLOWED_LINES = 20_000;

function toStates(lines: readonly string[], language: Language | undefined): readonly (CodeState | undefined)[] {
  if (language === undefined || lines.length > FOLLOWED_LINES) return [];
  let state: CodeState | undefined;
  return lines.map((line) => {
    const before = state;
    state = readCodeLine(line, language, state).state;
    return before;
  });
}

/** Of a whole file: its language, and what each line begins within. */
export function useCode(path: string, lines: readonly string[]) {
  const language = useMemo(() => toLanguage(path), [path]);
  const states = useMemo(() => toStates(lines, language), [lines, language]);
  return { language, states };
}

export interface PatchColours {
  readonly language: Language | undefined;
  /** Of the few lines that begin within something. */
  readonly states: ReadonlyMap<DiffLine, CodeState>;
}

/** Both sides of a patch are texts of their own; a hunk begins anew. */
export function usePatchColours(path: string, lines: readonly DiffLine[]): PatchColours {
  return useMemo(() => {
    const language = toLanguage(path);
    const states = new Map<DiffLine, CodeState>();
    if (language === undefined || lines.length > FOLLOWED_LINES) return { language, states };
    let old: CodeState | undefined;
    let now: CodeState | undefined;
    for (const line of lines) {
      if (line.kind === "hunk") [old, now] = [undefined, undefined];
      if (line.kind !== "context" && line.kind !== "added" && line.kind !== "removed") continue;
      const before = line.kind === "removed" ? old : now;
      if (before !== undefined) states.set(line, before);
      const after = readCodeLine(line.text, language, before).state;
      if (line.kind !== "added") old = after;
      if (line.kind !== "removed") now = after;
    }
    return { language, states };
  }, [path, lines]);
}

/** A text as one piece, its line ends kept. */
export function CodeBlock({ text, path }: { readonly text: string; readonly path: string }): ReactNode {
  const lines = useMemo(() => text.split("\n"), [text]);
  const { language, states } = useCode(path, lines);
  if (language === undefined) return text;
  return lines.map((line, at) => (
    <span key={at}>
      <CodeText text={line} language={language} state={states[at]} />
      {at < lines.length - 1 && "\n"}
    </span>
  ));
}
