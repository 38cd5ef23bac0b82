/** A value as JSON, for what has no drawing of its own. */
import type { Json as Value } from "@drover/contract";
import { useMemo } from "react";

const LIMIT_CHARACTERS = 20_000;

export function Json({ value, label }: { readonly value: Value; readonly label: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2), [value]);
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={label}
      className="mt-1.5 max-h-80 overflow-auto rounded-lg border border-line bg-sunken px-3 py-2 font-mono text-xs leading-relaxed break-words whitespace-pre-wrap"
    >
      {text.length > LIMIT_CHARACTERS
        ? `${text.slice(0, LIMIT_CHARACTERS)}\n… ${text.length - LIMIT_CHARACTERS} more characters`
        : text}
    </pre>
  );
}
