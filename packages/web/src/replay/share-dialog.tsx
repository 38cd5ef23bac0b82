/** Links by which others may watch a run: made, copied once, ended. */
import type { CreatedShare, Sandbox, Share } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link2, Trash2 } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { formatAge, formatDay, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/confirm.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Choice } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { sharesQuery } from "./queries.ts";

const DAY_SECONDS = 86_400;
const SPANS = [
  { value: "1", label: "A day" },
  { value: "7", label: "A week" },
  { value: "30", label: "A month" },
] as const;

export function ShareDialog({ sandbox, onClose }: { readonly sandbox: Sandbox; readonly onClose: () => void }) {
  const [days, setDays] = useState<(typeof SPANS)[number]["value"]>("7");
  const [made, setMade] = useState<CreatedShare>();
  const [doomed, setDoomed] = useState<Share>();
  const shares = useQuery(sharesQuery(sandbox.id));
  const params = { sandbox_id: sandbox.id };
  const readAgain = () => queryClient.invalidateQueries({ queryKey: sharesQuery(sandbox.id).queryKey });
  const create = useMutation({
    mutationFn: () => client.createShare({ params, body: { expires_in_s: Number(days) * DAY_SECONDS } }),
    onSuccess: (share) => {
      setMade(share);
      void readAgain();
    },
  });
  const revoke = useMutation({
    mutationFn: (id: string) => client.revokeShare({ params: { ...params, share_id: id } }),
    onSuccess: (share) => {
      if (made?.id === share.id) setMade(undefined);
      notify.good("The link is revoked");
      void readAgain();
    },
    onError: (error) => notify.bad(`Not revoked: ${error.message}`),
  });
  const open = (shares.data?.items ?? []).filter((share) => share.revoked_at === null);
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Share this run"
      description="Whoever has the link may watch and replay this run, and nothing else, until the link ends."
    >
      <div className="flex flex-col gap-4">
        {made === undefined ? (
          <div className="flex flex-wrap items-center gap-3">
            <Choice label="How long" value={days} options={SPANS} onChange={setDays} />
            <span className="flex-1" />
            <Button look="solid" onClick={() => create.mutate()} disabled={create.isPending}>
              <Link2 size={14} /> Make a link
            </Button>
          </div>
        ) : (
          <div className="flex flex-col gap-2 rounded-xl border border-line bg-surface p-3">
            <p className="text-sm">Copy it now: it is not shown again.</p>
            <code className="font-mono text-xs break-all" data-testid="share-link">
              {new URL(made.path, location.origin).href}
            </code>
            <div>
              <CopyButton text={new URL(made.path, location.origin).href} label="Copy link" />
            </div>
          </div>
        )}
        {create.isError && <Problem error={create.error} what="No link was made" />}
        {shares.isError && (
          <Problem error={shares.error} what="The links could not be read" onRetry={() => void shares.refetch()} />
        )}
        {open.length > 0 && (
          <ul className="flex flex-col divide-y divide-line rounded-xl border border-line" aria-label="Links">
            {open.map((share) => (
              <ShareLine key={share.id} share={share} onRevoke={() => setDoomed(share)} />
            ))}
          </ul>
        )}
      </div>
      <Confirm
        isOpen={doomed !== undefined}
        onClose={() => setDoomed(undefined)}
        onConfirm={() => doomed !== undefined && revoke.mutate(doomed.id)}
        title="Revoke this link?"
        text="Whoever has it sees nothing any more. A new link has another address."
        verb="Revoke"
      />
    </Dialog>
  );
}

function ShareLine({ share, onRevoke }: { readonly share: Share; readonly onRevoke: () => void }) {
  const now = useNow();
  const left = Date.parse(share.expires_at) - now;
  return (
    <li className="flex items-center gap-3 px-3 py-2 text-xs">
      <span className="min-w-0 flex-1">
        <span className="font-mono">{share.id}</span>
        <span className="block text-ink-3">
          {left > 0 ? `ends in ${formatSpan(left)}` : `ended ${formatDay(share.expires_at)}`} ·{" "}
          {share.last_used_at === null ? "never used" : `used ${formatAge(now - Date.parse(share.last_used_at))} ago`}
        </span>
      </span>
      <Button size="small" onClick={onRevoke} aria-label={`Revoke ${share.id}`}>
        <Trash2 size={12} /> Revoke
      </Button>
    </li>
  );
}
