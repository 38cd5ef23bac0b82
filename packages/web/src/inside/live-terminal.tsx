/** A shell in the sandbox: what is typed goes there, what it prints is drawn here. */
import type { TerminalSession } from "@drover/client";
import { useRef, useState } from "react";
import { client } from "../data/client.ts";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import type { Screen } from "./terminal-screen.ts";
import { useScreen } from "./use-screen.ts";

type Phase =
  | { readonly name: "opening" | "open" }
  | { readonly name: "ended"; readonly code: number | null }
  | { readonly name: "failed"; readonly error: unknown };

const encoder = new TextEncoder();

export function LiveTerminal({ sandboxId, onEnd }: { readonly sandboxId: string; readonly onEnd: () => void }) {
  const [phase, setPhase] = useState<Phase>({ name: "opening" });
  const session = useRef<TerminalSession>(undefined);

  const onOpen = ({ terminal }: Screen) => {
    let isGone = false;
    const typed = terminal.onData((text) => session.current?.write(encoder.encode(text)));
    const bytes = terminal.onBinary((text) =>
      session.current?.write(Uint8Array.from(text, (character) => character.charCodeAt(0))),
    );
    client
      .openTerminal(sandboxId, {
        columns: terminal.cols,
        rows: terminal.rows,
        onOutput: (output) => {
          if (!isGone) terminal.write(output);
        },
      })
      .then(async (opened) => {
        if (isGone) return opened.close();
        session.current = opened;
        setPhase({ name: "open" });
        terminal.focus();
        const { code } = await opened.ended;
        if (!isGone) setPhase({ name: "ended", code });
      })
      .catch((error: unknown) => {
        if (!isGone) setPhase({ name: "failed", error });
      });
    return () => {
      isGone = true;
      typed.dispose();
      bytes.dispose();
      session.current?.close();
      session.current = undefined;
    };
  };
  const place = useScreen({ onOpen, onFit: (columns, rows) => session.current?.resize(columns, rows) });

  return (
    <div className="flex min-h-0 flex-1 flex-col gap-2" data-terminal={phase.name}>
      <div className="flex min-h-7 items-center gap-3 text-xs text-ink-3">
        <p role="status" className="flex-1">
          {phase.name === "opening" && "Opening a shell"}
          {phase.name === "open" && "Your shell. What it prints is recorded; what you type is not."}
          {phase.name === "ended" && `The shell has ended${phase.code === null ? "" : ` with ${phase.code}`}.`}
          {phase.name === "failed" && "The terminal was cut off."}
        </p>
        <Button size="small" onClick={onEnd}>
          Close
        </Button>
      </div>
      {phase.name === "failed" && <Problem error={phase.error} what="The terminal is not open" />}
      <div className="min-h-0 flex-1 overflow-hidden rounded-lg border border-line bg-surface p-2">
        <div ref={place} className="h-full" />
      </div>
    </div>
  );
}
