/** Ready-made beginnings of a request: some of ours, and what a person kept in this browser. */
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";
import { withoutSecrets, type Draft } from "./draft.ts";

interface Template {
  readonly name: string;
  readonly parts: Partial<Draft>;
}

const OURS: readonly Template[] = [
  {
    name: "Mend a flaky test",
    parts: {
      prompt:
        "One of our tests fails now and then. Find it by repeating the suite, find out why, and mend the cause rather than the symptom. Show that it passes a hundred times.",
    },
  },
  {
    name: "Write the missing tests",
    parts: {
      prompt:
        "Find what our tests do not cover and what would hurt most if it broke. Write tests for it that fail when the code is broken on purpose.",
    },
  },
  {
    name: "Upgrade a dependency",
    parts: {
      prompt: "Upgrade … to its newest version: read what changed, change what it asks for, and keep all tests green.",
      network: "allowlist",
    },
  },
  {
    name: "Look, and change nothing",
    parts: {
      prompt: "Read the code and tell me how … works: the way of one request through it, with file names and lines.",
      mode: "plan",
    },
  },
];

const KEPT = "drover.templates";
const MOST = 20;

function readKept(): readonly Template[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept)
      ? kept.filter((one): one is Template => typeof one?.name === "string" && typeof one.parts === "object")
      : [];
  } catch {
    // Expected: somebody else wrote there.
    return [];
  }
}

interface TemplatesProps {
  readonly draft: Draft;
  readonly onPick: (parts: Partial<Draft>) => void;
}

export function Templates({ draft, onPick }: TemplatesProps) {
  const [kept, setKept] = useState(readKept);
  const keep = (next: readonly Template[]) => {
    localStorage.setItem(KEPT, JSON.stringify(next));
    setKept(next);
  };
  const all = [...OURS, ...kept];
  const name = draft.prompt.trim().split("\n")[0]?.slice(0, 60) ?? "";
  const isKept = kept.some((one) => one.name === name);
  const onKeep = () => {
    const before = kept;
    const parts = Object.fromEntries(Object.entries(withoutSecrets(draft)).filter(([, value]) => value !== ""));
    keep(isKept ? kept.filter((one) => one.name !== name) : [...kept, { name, parts }].slice(-MOST));
    notify.undoable(isKept ? "The template is forgotten" : `Kept as a template: ${name}`, () => keep(before));
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <select
        aria-label="Begin with a template"
        value=""
        onChange={(event) => {
          const picked = all.find((one) => one.name === event.target.value);
          if (picked !== undefined) onPick(picked.parts);
        }}
        className="h-8 max-w-60 rounded-lg border border-line-strong bg-surface px-2 text-xs text-ink-2"
      >
        <option value="">Begin with a template…</option>
        <optgroup label="Ours">
          {OURS.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </optgroup>
        {kept.length > 0 && (
          <optgroup label="Kept in this browser">
            {kept.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </optgroup>
        )}
      </select>
      {name !== "" && (
        <Button size="small" look="ghost" onClick={onKeep}>
          {isKept ? "Forget this template" : "Keep as a template"}
        </Button>
      )}
    </div>
  );
}
