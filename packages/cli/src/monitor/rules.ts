/** drover monitor rules: when somebody is to be told, and how. */
import { MetricName, type AlertChannel, type AlertRule } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const nameChannel = (channel: AlertChannel): string => (channel.kind === "webhook" ? channel.url : channel.kind);

const TEXT = {
  header: ["ID", "ON", "SEVERITY", "WHEN", "TELLS", "NAME"],
  toRow: (one: AlertRule) => [
    one.id,
    one.enabled ? "yes" : "no",
    one.severity,
    `${one.metric} ${one.comparison === "above" ? ">" : "<"} ${one.threshold}`,
    one.channels.map(nameChannel).join(",") || "nobody",
    one.name,
  ],
  nothing: "There are no rules.",
} as const;

function parseNumber(verb: Verb, text: string | undefined, what: string): number {
  const value = Number(text);
  if (text !== undefined && text.trim() !== "" && Number.isFinite(value)) return value;
  throw new UsageError(`${what} is a number, not ${JSON.stringify(text ?? "")}`, verb.name);
}

function toChannels(args: Arguments): AlertChannel[] {
  const urls = args.all("webhook").map((url) => ({ kind: "webhook" as const, url }));
  return [{ kind: "log" }, { kind: "desktop" }, ...urls];
}

/** `list`, `add <metric> above|below <number> <name>`, `on|off|rm <id>`. */
export async function runRules(verb: Verb, context: Context, args: Arguments): Promise<number> {
  const client = connect(context, args);
  const { signal } = context;
  const tell = (rule: AlertRule): number => {
    if (args.has("json")) context.print(JSON.stringify(rule, null, 2));
    else printList(context, args, { items: [rule] }, TEXT);
    return EXIT.ok;
  };
  const [, action = "list"] = args.positionals;
  if (action === "list") {
    takePositionals(verb, args, 1, 2);
    printList(context, args, await client.listAlertRules({ query: { limit: 500 } }, { signal }), TEXT);
    return EXIT.ok;
  }
  if (action === "add") {
    const [, , metric, comparison, threshold, name = ""] = takePositionals(verb, args, 6, 6);
    const known = MetricName.safeParse(metric).data;
    if (known === undefined) throw new UsageError(`${metric} is not measured; see: drover monitor metrics`, verb.name);
    if (comparison !== "above" && comparison !== "below")
      throw new UsageError("say above or below and a number", verb.name);
    const hold = args.get("for");
    const severity = args.has("critical") ? ("critical" as const) : ("warning" as const);
    const body = {
      name,
      metric: known,
      comparison,
      threshold: parseNumber(verb, threshold, "the limit"),
      ...(hold === undefined ? {} : { for_seconds: parseNumber(verb, hold, "--for") }),
      severity,
      channels: toChannels(args),
    } as const;
    return tell(await client.createAlertRule({ body }, { signal }));
  }
  const [, , rule_id = ""] = takePositionals(verb, args, 3, 3);
  const params = { rule_id };
  if (action === "rm") return tell(await client.deleteAlertRule({ params }, { signal }));
  if (action !== "on" && action !== "off") throw new UsageError(`usage: drover ${verb.name} ${verb.usage}`, verb.name);
  return tell(await client.changeAlertRule({ params, body: { enabled: action === "on" } }, { signal }));
}
