/** Ways on from a run: its replay, a new sandbox from its end, a link for others, another run beside it. */
import { TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { Link } from "@tanstack/react-router";
import { Columns2, GitFork, History, Share2 } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Tooltip } from "../ui/tooltip.tsx";

const ForkDialog = lazy(() => import("../replay/fork-dialog.tsx").then((module) => ({ default: module.ForkDialog })));
const ShareDialog = lazy(() =>
  import("../replay/share-dialog.tsx").then((module) => ({ default: module.ShareDialog })),
);

const LINK =
  "inline-flex h-7 shrink-0 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover";

const Name = ({ children }: { readonly children: ReactNode }) => <span className="max-xl:sr-only">{children}</span>;

export function RunLinks({ sandbox, mayOperate }: { readonly sandbox: Sandbox; readonly mayOperate: boolean }) {
  const [open, setOpen] = useState<"fork" | "share">();
  const isOver = TERMINAL_SANDBOX_STATES.has(sandbox.state) || sandbox.state === "completed";
  return (
    <>
      <Tooltip label="Replay" action="replay">
        <Link to="/sandboxes/$sandboxId/replay" params={{ sandboxId: sandbox.id }} className={LINK}>
          <History size={13} aria-hidden /> <Name>Replay</Name>
        </Link>
      </Tooltip>
      <Tooltip label="Compare with another run">
        <Link to="/compare" search={{ a: sandbox.id }} className={`${LINK} max-md:hidden`}>
          <Columns2 size={13} aria-hidden /> <Name>Compare</Name>
        </Link>
      </Tooltip>
      {mayOperate && (
        <>
          <Tooltip label="Share a read-only link">
            <Button size="small" onClick={() => setOpen("share")}>
              <Share2 size={13} aria-hidden /> <Name>Share</Name>
            </Button>
          </Tooltip>
          <Tooltip label={isOver ? "Go on in a new sandbox" : "Fork from the newest event"}>
            <Button size="small" look={isOver ? "solid" : "plain"} onClick={() => setOpen("fork")}>
              <GitFork size={13} aria-hidden /> <Name>{isOver ? "Go on" : "Fork"}</Name>
            </Button>
          </Tooltip>
        </>
      )}
      <Suspense>
        {open === "fork" && (
          <ForkDialog
            sandbox={sandbox}
            seq={sandbox.last_seq}
            at={sandbox.event_count}
            isEnd
            onClose={() => setOpen(undefined)}
          />
        )}
        {open === "share" && <ShareDialog sandbox={sandbox} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </>
  );
}
