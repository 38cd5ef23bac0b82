/** Goes on from the newest event of a run in a new sandbox. */
import type { Sandbox } from "@drover/contract";
import { GitFork } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useKeys } from "../app/keys.ts";
import { Button } from "../ui/button.tsx";

const ForkDialog = lazy(() => import("../replay/fork-dialog.tsx").then((module) => ({ default: module.ForkDialog })));

interface ForkButtonProps {
  readonly sandbox: Sandbox;
  readonly look: "solid" | "plain";
  readonly className?: string;
  readonly children: ReactNode;
}

export function ForkButton({ sandbox, look, className, children }: ForkButtonProps) {
  const [isOpen, setOpen] = useState(false);
  useKeys({ fork: () => setOpen(true) });
  return (
    <>
      <Button size="small" look={look} className={className} onClick={() => setOpen(true)}>
        <GitFork size={13} aria-hidden /> {children}
      </Button>
      <Suspense>
        {isOpen && (
          <ForkDialog
            sandbox={sandbox}
            seq={sandbox.last_seq}
            at={sandbox.event_count}
            isEnd
            onClose={() => setOpen(false)}
          />
        )}
      </Suspense>
    </>
  );
}
