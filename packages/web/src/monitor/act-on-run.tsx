/** What may be done at once about a run that stands out: a word to it, or its end. Nothing where it is over. */
import { TERMINAL_SANDBOX_STATES } from "@drover/contract";
import { useInfiniteQuery } from "@tanstack/react-query";
import { MessageSquare } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { sandboxesQuery } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Terminate } from "../pages/run-actions.tsx";
import { Button } from "../ui/button.tsx";

const MessageAll = lazy(() =>
  import("../sandboxes/message-all.tsx").then((module) => ({ default: module.MessageAll })),
);

export function ActOnRun({ sandboxId }: { readonly sandboxId: string }) {
  const [isWriting, setWriting] = useState(false);
  const mayOperate = useMay("operate");
  const list = useInfiniteQuery(sandboxesQuery({}));
  const sandbox = list.data?.pages.flatMap((page) => page.items).find(({ id }) => id === sandboxId);
  if (!mayOperate || sandbox === undefined || TERMINAL_SANDBOX_STATES.has(sandbox.state)) return null;
  return (
    <>
      <Button size="small" onClick={() => setWriting(true)}>
        <MessageSquare size={13} /> Steer
      </Button>
      <Terminate sandbox={sandbox} name="Stop" isListed />
      <Suspense>{isWriting && <MessageAll sandboxes={[sandbox]} onClose={() => setWriting(false)} />}</Suspense>
    </>
  );
}
