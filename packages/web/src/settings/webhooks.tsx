/** Outbound webhooks: where events are told to other programs, whether they arrive, and a test event. */
import type { CreatedWebhook, Delivery, NewWebhook as NewWebhookBody, Webhook } from "@drover/contract";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { Plus, Send } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { formatAge } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { projectsQuery, queryClient } from "../data/queries.ts";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Form } from "../ui/form.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Empty } from "../ui/empty.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Select } from "../ui/select.tsx";

const webhooksQuery = queryOptions({
  queryKey: ["webhooks"] as const,
  queryFn: ({ signal }) => client.listWebhooks({ query: { limit: 100 } }, { signal }),
});
const deliveriesQuery = (webhookId: Webhook["id"]) =>
  queryOptions({
    queryKey: ["webhooks", webhookId, "deliveries"] as const,
    queryFn: ({ signal }) =>
      client.listDeliveries({ params: { webhook_id: webhookId }, query: { limit: 10 } }, { signal }),
    refetchInterval: 3_000,
  });

const readWebhooks = () => queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });

export function Webhooks() {
  const webhooks = useQuery(webhooksQuery);
  const [isAsking, setAsking] = useState(false);
  return (
    <Section
      title="Webhooks"
      action={
        <Button size="small" onClick={() => setAsking(true)}>
          <Plus size={14} /> New webhook
        </Button>
      }
    >
      <Listing
        read={webhooks}
        what="The webhooks"
        height="h-20"
        empty={
          <Empty title="No webhook yet">
            A webhook posts events, signed, to an address of yours, and tries again until they arrive.
          </Empty>
        }
      >
        {(items) => items.map((webhook) => <WebhookLine key={webhook.id} webhook={webhook} />)}
      </Listing>
      {isAsking && <NewWebhook onClose={() => setAsking(false)} />}
    </Section>
  );
}

function WebhookLine({ webhook }: { readonly webhook: Webhook }) {
  const params = { webhook_id: webhook.id };
  const [isDoomed, setDoomed] = useState(false);
  const remove = useMutation({
    mutationFn: () => client.deleteWebhook({ params }),
    onSuccess: readWebhooks,
    onError: (error) => notify.bad(`Not removed: ${error.message}`),
  });
  const change = useMutation({
    mutationFn: (isEnabled: boolean) => client.changeWebhook({ params, body: { is_enabled: isEnabled } }),
    onSuccess: readWebhooks,
    onError: (error) => notify.bad(`Not changed: ${error.message}`),
  });
  const ping = useMutation({
    mutationFn: () => client.pingWebhook({ params }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: deliveriesQuery(webhook.id).queryKey }),
    onError: (error) => notify.bad(`Not sent: ${error.message}`),
  });
  const what = webhook.event_types.length === 0 ? "every event" : webhook.event_types.join(", ");
  return (
    <div className="flex flex-col gap-2 px-4 py-3" data-webhook={webhook.url}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <p className={cx("truncate font-mono text-xs", !webhook.is_enabled && "text-ink-3 line-through")}>
            {webhook.url}
          </p>
          <p className="truncate text-xs text-ink-3">
            {what}
            {webhook.description !== "" && ` · ${webhook.description}`}
          </p>
          {webhook.disabled_reason !== null && (
            <p className="text-xs break-words text-fail-ink">{webhook.disabled_reason}</p>
          )}
        </div>
        <Button size="small" disabled={ping.isPending || !webhook.is_enabled} onClick={() => ping.mutate()}>
          <Send size={13} /> Test
        </Button>
        <Button size="small" disabled={change.isPending} onClick={() => change.mutate(!webhook.is_enabled)}>
          {webhook.is_enabled ? "Switch off" : "Switch on"}
        </Button>
        <Button size="small" look="ghost" onClick={() => setDoomed(true)} aria-label={`Remove ${webhook.url}`}>
          Remove
        </Button>
      </div>
      <Deliveries webhook={webhook} />
      <Confirm
        isOpen={isDoomed}
        onClose={() => setDoomed(false)}
        onConfirm={() => remove.mutate()}
        title="Remove this webhook?"
        text="Its log goes with it, and what was not delivered yet is not sent any more."
        verb="Remove"
      />
    </div>
  );
}

const LOOKS = { delivered: "text-live-ink", pending: "text-ink-3", failed: "text-fail-ink" } as const;

function Deliveries({ webhook }: { readonly webhook: Webhook }) {
  const deliveries = useQuery(deliveriesQuery(webhook.id));
  const now = useNow();
  const again = useMutation({
    mutationFn: (deliveryId: Delivery["id"]) =>
      client.redeliver({ params: { webhook_id: webhook.id, delivery_id: deliveryId } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: deliveriesQuery(webhook.id).queryKey }),
    onError: (error) => notify.bad(`Not sent again: ${error.message}`),
  });
  const items = deliveries.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <ul aria-label={`Last deliveries to ${webhook.url}`} className="flex flex-col gap-0.5 border-l-2 border-line pl-3">
      {items.slice(0, 5).map((delivery) => (
        <li key={delivery.id} className="flex flex-wrap gap-x-3 text-xs text-ink-3 tabular-nums">
          <span className={cx("w-16 font-medium", LOOKS[delivery.state])}>{delivery.state}</span>
          <code className="font-mono">{delivery.event_type}</code>
          {delivery.last_status !== null && <span>HTTP {delivery.last_status}</span>}
          {delivery.last_error !== null && <span className="min-w-0 break-words">{delivery.last_error}</span>}
          {delivery.state !== "pending" && (
            <button
              type="button"
              disabled={again.isPending}
              onClick={() => again.mutate(delivery.id)}
              aria-label={`Send ${delivery.event_type} again`}
              className="rounded font-medium text-live-ink underline underline-offset-2"
            >
              send again
            </button>
          )}
          <time dateTime={delivery.created_at} className="ml-auto">
            {formatAge(now - Date.parse(delivery.created_at))}
          </time>
        </li>
      ))}
    </ul>
  );
}

function NewWebhook({ onClose }: { readonly onClose: () => void }) {
  const projects = useQuery(projectsQuery);
  const [url, setUrl] = useState("");
  const [types, setTypes] = useState("");
  const [project, setProject] = useState("");
  const [created, setCreated] = useState<CreatedWebhook>();
  const create = useMutation({
    mutationFn: () =>
      client.createWebhook({
        body: {
          url: url.trim(),
          description: "",
          is_enabled: true,
          event_types: types.split(/[\s,]+/).filter(Boolean),
          ...(project === "" ? {} : { project_id: project as NewWebhookBody["project_id"] }),
        },
      }),
    onSuccess: (webhook) => {
      setCreated(webhook);
      return readWebhooks();
    },
  });
  const isReady = /^https?:\/\/\S+$/.test(url.trim());
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={created === undefined ? "New webhook" : "Its secret"}
      description={
        created === undefined
          ? "Events are posted as CloudEvents and signed as Standard Webhooks has it."
          : "Shown only now. The receiver checks by it that an event comes from here."
      }
    >
      {created === undefined ? (
        <Form verb="Create webhook" isReady={isReady} sent={create} refused="The webhook was not made">
          <Field
            label="Address"
            data-focus-first
            spellCheck={false}
            placeholder="https://example.org/drover"
            value={url}
            complaint={url !== "" && !isReady ? "An address with http or https." : undefined}
            onChange={(event) => setUrl(event.target.value)}
          />
          <Field
            label="Events"
            spellCheck={false}
            placeholder="agent.*, STATE_CHANGED"
            hint="Types, or beginnings with a star; every event but heartbeats if empty."
            value={types}
            onChange={(event) => setTypes(event.target.value)}
          />
          <Select
            label="Of"
            value={project}
            onChange={(event) => setProject(event.target.value)}
            options={[
              { value: "", label: "All projects" },
              ...(projects.data?.items ?? []).map((one) => ({ value: one.id, label: one.name })),
            ]}
          />
        </Form>
      ) : (
        <div className="flex items-center gap-3 rounded-xl border border-line bg-sunken px-3 py-2">
          <code className="min-w-0 flex-1 font-mono text-xs break-all">{created.secret}</code>
          <CopyButton text={created.secret} name="secret" />
        </div>
      )}
    </Dialog>
  );
}
