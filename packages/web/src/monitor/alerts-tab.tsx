/** Alerts: what fired and who sees to it, and the rules that decide when somebody is told. */
import { METRICS, MetricName, type Alert, type AlertRule, type NewAlertRule } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { BellRing, Check, Plus } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { formatAge, formatDay, formatShort, formatPeriod } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Form } from "../ui/form.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Empty } from "../ui/empty.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Select } from "../ui/select.tsx";
import { alertRulesQuery, alertsQuery } from "./queries.ts";
import { toWords } from "./words.tsx";

const readAgain = () => queryClient.invalidateQueries({ queryKey: ["monitor"] });

export const AlertsTab = () => (
  <>
    <Fired />
    <Rules />
  </>
);

function Fired() {
  const alerts = useQuery(alertsQuery);
  return (
    <Section title="Fired alerts">
      <Listing
        read={alerts}
        what="The alerts"
        height="h-16"
        empty={<Empty title="Nothing has fired">A rule below says when somebody is told.</Empty>}
      >
        {(items) => items.map((alert) => <AlertLine key={alert.id} alert={alert} />)}
      </Listing>
    </Section>
  );
}

function AlertLine({ alert }: { readonly alert: Alert }) {
  const now = useNow();
  const mayOperate = useMay("operate");
  const acknowledge = useMutation({
    mutationFn: () => client.acknowledgeAlert({ params: { alert_id: alert.id } }),
    onSuccess: readAgain,
    onError: (error) => notify.bad(`Not acknowledged: ${error.message}`),
  });
  const isFiring = alert.state === "firing";
  const look = !isFiring
    ? "bg-sunken text-ink-2"
    : alert.severity === "critical"
      ? "bg-fail-soft text-fail-ink"
      : "bg-wait-soft text-wait-ink";
  return (
    <article data-alert={alert.id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <span className={cx("inline-flex h-6 items-center gap-1.5 rounded-full px-2 text-xs font-semibold", look)}>
        <BellRing size={13} aria-hidden /> {isFiring ? alert.severity : "over"}
      </span>
      <div className="min-w-0 flex-1 basis-56">
        <h3 className="truncate text-sm font-medium">{alert.name}</h3>
        <p className="text-xs text-ink-3">
          {toWords(alert.metric)} was {formatShort(alert.value)}, the limit is {formatShort(alert.threshold)}
          {alert.deliveries.some(({ status }) => status === "failed") && " · a webhook did not arrive"}
        </p>
      </div>
      <time className="text-xs text-ink-3 tabular-nums" dateTime={alert.started_at} title={formatDay(alert.started_at)}>
        {formatAge(now - Date.parse(alert.started_at))}
      </time>
      {alert.acknowledged_at !== null ? (
        <span className="text-xs text-ink-3">seen by {alert.acknowledged_by ?? "somebody"}</span>
      ) : (
        mayOperate &&
        isFiring && (
          <Button size="small" disabled={acknowledge.isPending} onClick={() => acknowledge.mutate()}>
            <Check size={13} /> Seen
          </Button>
        )
      )}
    </article>
  );
}

function Rules() {
  const rules = useQuery(alertRulesQuery);
  const mayOperate = useMay("operate");
  const [isAsking, setAsking] = useState(false);
  return (
    <Section
      title="Rules"
      action={
        mayOperate && (
          <Button size="small" onClick={() => setAsking(true)}>
            <Plus size={14} /> New rule
          </Button>
        )
      }
    >
      <Listing
        read={rules}
        what="The rules"
        height="h-16"
        empty={<Empty title="No rule yet">Such as: more than 20 tasks wait for five minutes.</Empty>}
      >
        {(items) => items.map((rule) => <RuleLine key={rule.id} rule={rule} />)}
      </Listing>
      {isAsking && <NewRule onClose={() => setAsking(false)} />}
    </Section>
  );
}

function RuleLine({ rule }: { readonly rule: AlertRule }) {
  const mayOperate = useMay("operate");
  const [isDoomed, setDoomed] = useState(false);
  const params = { rule_id: rule.id };
  const change = useMutation({
    mutationFn: () => client.changeAlertRule({ params, body: { enabled: !rule.enabled } }),
    onSuccess: readAgain,
    onError: (error) => notify.bad(`Not changed: ${error.message}`),
  });
  const remove = useMutation({
    mutationFn: () => client.deleteAlertRule({ params }),
    onSuccess: readAgain,
    onError: (error) => notify.bad(`Not removed: ${error.message}`),
  });
  const ways = rule.channels.map((channel) => (channel.kind === "webhook" ? channel.url : channel.kind)).join(", ");
  return (
    <div data-rule={rule.name} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <p className={cx("truncate text-sm font-medium", !rule.enabled && "text-ink-3 line-through")}>{rule.name}</p>
        <p className="text-xs wrap-anywhere text-ink-3">
          {toWords(rule.metric)} {rule.comparison} {rule.threshold}
          {rule.for_seconds > 0 && ` for ${formatPeriod(rule.for_seconds * 1_000)}`} · {rule.severity} · {ways}
        </p>
      </div>
      {mayOperate && (
        <div className="flex items-center gap-2">
          <Button size="small" disabled={change.isPending} onClick={() => change.mutate()}>
            {rule.enabled ? "Switch off" : "Switch on"}
          </Button>
          <Button size="small" look="ghost" onClick={() => setDoomed(true)} aria-label={`Remove ${rule.name}`}>
            Remove
          </Button>
        </div>
      )}
      <Confirm
        isOpen={isDoomed}
        onClose={() => setDoomed(false)}
        onConfirm={() => remove.mutate()}
        title="Remove this rule?"
        text="From now on it tells nobody. What it fired stays, as over."
        verb="Remove"
      />
    </div>
  );
}

const METRIC_OPTIONS = MetricName.options.map((value) => ({
  value,
  label: `${toWords(value)}: ${METRICS[value].doc}`,
}));
const COMPARISONS = [
  { value: "above", label: "above" },
  { value: "below", label: "below" },
];
const SEVERITIES = [
  { value: "warning", label: "warning" },
  { value: "critical", label: "critical" },
];

function NewRule({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [metric, setMetric] = useState<string>("queue_depth");
  const [comparison, setComparison] = useState("above");
  const [threshold, setThreshold] = useState("");
  const [minutes, setMinutes] = useState("");
  const [severity, setSeverity] = useState("warning");
  const [url, setUrl] = useState("");
  const isNumber = threshold.trim() !== "" && Number.isFinite(Number(threshold));
  const isSpan = minutes.trim() === "" || Number(minutes) >= 0;
  const isReady = name.trim() !== "" && isNumber && isSpan;
  const create = useMutation({
    mutationFn: () =>
      client.createAlertRule({
        body: {
          name: name.trim(),
          metric: metric as NewAlertRule["metric"],
          comparison: comparison as NewAlertRule["comparison"],
          severity: severity as NewAlertRule["severity"],
          threshold: Number(threshold),
          for_seconds: Math.round(Number(minutes) * 60),
          cool_down_seconds: 300,
          enabled: true,
          channels: [
            { kind: "log" },
            { kind: "desktop" },
            ...(url.trim() === "" ? [] : [{ kind: "webhook" as const, url: url.trim() }]),
          ],
        },
      }),
    onSuccess: () => {
      onClose();
      return readAgain();
    },
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="New rule"
      description="Told in the server's log, on desktops that asked for it in the settings, and to a webhook if you name one."
    >
      <Form verb="Create rule" isReady={isReady} sent={create} refused="The rule was not made">
        <Field
          label="Name"
          data-focus-first
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Select
          label="Figure"
          options={METRIC_OPTIONS}
          value={metric}
          onChange={(event) => setMetric(event.target.value)}
        />
        <div className="grid grid-cols-2 gap-4">
          <Select
            label="Is"
            options={COMPARISONS}
            value={comparison}
            onChange={(event) => setComparison(event.target.value)}
          />
          <Field
            label="Limit"
            inputMode="decimal"
            value={threshold}
            complaint={threshold !== "" && !isNumber ? "A number." : undefined}
            onChange={(event) => setThreshold(event.target.value)}
          />
          <Field
            label="For minutes"
            inputMode="decimal"
            placeholder="0"
            value={minutes}
            complaint={isSpan ? undefined : "A number, 0 or more."}
            onChange={(event) => setMinutes(event.target.value)}
          />
          <Select
            label="Severity"
            options={SEVERITIES}
            value={severity}
            onChange={(event) => setSeverity(event.target.value)}
          />
        </div>
        <Field
          label="Webhook"
          spellCheck={false}
          placeholder="None"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
      </Form>
    </Dialog>
  );
}
