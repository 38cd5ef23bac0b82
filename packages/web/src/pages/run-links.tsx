/** Ways on from a run: its replay, a new sandbox from its end, a link for others, another run beside it. */
import { TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { Link } from "@tanstack/react-router";
import { Columns2, History, Share2 } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useKeys } from "../app/keys.ts";
import { Button } from "../ui/button.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { ForkButton } from "./fork-button.tsx";

const ShareDialog = lazy(() =>
  import("../replay/share-dialog.tsx").then((module) => ({ default: module.ShareDialog })),
);

const LINK =
  "inline-flex h-7 shrink-0 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover";

const Name = ({ children }: { readonly children: ReactNode }) => <span className="max-2xl:sr-only">{children}</span>;

export function RunLinks({ sandbox, mayOperate }: { readonly sandbox: Sandbox; readonly mayOperate: boolean }) {
  const [isSharing, setSharing] = useState(false);
  useKeys(mayOperate ? { share: () => setSharing(true) } : {});
  const isOver = TERMINAL_SANDBOX_STATES.has(sandbox.state) || sandbox.state === "completed";
  return (
    <>
      <Tooltip label="Replay" action="replay">
        <Link to="/sandboxes/$sandboxId/replay" params={{ sandboxId: sandbox.id }} className={LINK}>
          <History size={13} aria-hidden /> <span className="max-md:sr-only">Replay</span>
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
            <Button size="small" onClick={() => setSharing(true)}>
              <Share2 size={13} aria-hidden /> <Name>Share</Name>
            </Button>
          </Tooltip>
          <Tooltip label={isOver ? "Go on in a new sandbox" : "Fork from the newest event"}>
            <ForkButton sandbox={sandbox} look={isOver ? "solid" : "plain"}>
              {isOver ? "Go on" : <Name>Fork</Name>}
            </ForkButton>
          </Tooltip>
        </>
      )}
      <Suspense>{isSharing && <ShareDialog sandbox={sandbox} onClose={() => setSharing(false)} />}</Suspense>
    </>
  );
}
