/** Where the calls of agents go, and whether the server has the keys for them. A key goes in and never comes out. */
import type { ModelUpstream } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, KeyRound } from "lucide-react";
import { useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { queryClient, upstreamsQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { Section } from "../pages/section.tsx";

const VENDORS = { anthropic: "Anthropic", openai: "OpenAI", gemini: "Google Gemini" } as const;

const readUpstreams = () => queryClient.invalidateQueries({ queryKey: upstreamsQuery.queryKey });

export function ModelKeys() {
  const upstreams = useQuery(upstreamsQuery);
  const [asked, setAsked] = useState<ModelUpstream>();
  const [doomed, setDoomed] = useState<ModelUpstream>();
  const forget = useMutation({
    mutationFn: (upstream: ModelUpstream) => client.deleteUpstream({ params: { protocol: upstream.protocol } }),
    onSuccess: readUpstreams,
    onError: (error) => notify.bad(`Not forgotten: ${error.message}`),
  });
  return (
    <Section title="Models">
      {upstreams.isError && (
        <div className="p-4">
          <Problem
            error={upstreams.error}
            what="The vendors could not be read"
            onRetry={() => void upstreams.refetch()}
          />
        </div>
      )}
      {upstreams.data?.items.map((upstream) => (
        <div
          key={upstream.protocol}
          className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3"
          data-vendor={upstream.protocol}
        >
          <div className="min-w-0 flex-1">
            <p className="text-sm font-medium">{VENDORS[upstream.protocol]}</p>
            <p className="truncate text-xs text-ink-3">
              {upstream.base_url ?? "the vendor's own address"}
              {upstream.origin === "environment" && " · by the server's settings"}
            </p>
          </div>
          {upstream.has_key ? (
            <span className="inline-flex items-center gap-1.5 text-xs font-medium text-live-ink">
              <CircleCheck size={14} aria-hidden /> has a key
            </span>
          ) : (
            <span className="text-xs text-ink-3">no key</span>
          )}
          {upstream.origin === "stored" && (
            <Button
              size="small"
              look="ghost"
              disabled={forget.isPending}
              onClick={() => setDoomed(upstream)}
              aria-label={`Forget what is stored for ${VENDORS[upstream.protocol]}`}
            >
              Forget
            </Button>
          )}
          {upstream.origin !== "environment" && (
            <Button size="small" onClick={() => setAsked(upstream)}>
              <KeyRound size={13} /> {upstream.has_key ? "Replace" : "Add key"}
              <span className="sr-only"> for {VENDORS[upstream.protocol]}</span>
            </Button>
          )}
        </div>
      ))}
      <Confirm
        isOpen={doomed !== undefined}
        onClose={() => setDoomed(undefined)}
        onConfirm={() => doomed !== undefined && forget.mutate(doomed)}
        title={doomed === undefined ? "" : `Forget what is stored for ${VENDORS[doomed.protocol]}?`}
        text="Agents that ask its models get no answer from then on. The key cannot be read back: it has to be put in again."
        verb="Forget"
      />
      {asked !== undefined && <AskKey upstream={asked} onClose={() => setAsked(undefined)} />}
    </Section>
  );
}

function AskKey({ upstream, onClose }: { readonly upstream: ModelUpstream; readonly onClose: () => void }) {
  const [key, setKey] = useState("");
  const [address, setAddress] = useState(upstream.base_url ?? "");
  const put = useMutation({
    mutationFn: () =>
      client.putUpstream({
        params: { protocol: upstream.protocol },
        body: { api_key: key.trim(), ...(address.trim() === "" ? {} : { base_url: address.trim() }) },
      }),
    onSuccess: () => {
      onClose();
      return readUpstreams();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    put.mutate();
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Key for ${VENDORS[upstream.protocol]}`}
      description="Kept sealed by the server. Sandboxes never see it: their calls go through the gateway."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field
          label="Key"
          type="password"
          autoComplete="off"
          data-focus-first
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <Field
          label="Address"
          placeholder="The vendor's own"
          spellCheck={false}
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
        {put.isError && <Problem error={put.error} what="The key was not kept" />}
        <Button type="submit" look="solid" className="self-end" disabled={key.trim() === "" || put.isPending}>
          Keep key
        </Button>
      </form>
    </Dialog>
  );
}
