/** How a sandbox is named in the cluster. Labels there are short words; what does not fit is hashed, and the whole stands in an annotation. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Labels } from "../../ports/sandbox-provider.ts";

const PREFIX = "drover.dev/";
const KEY_ANNOTATION = `${PREFIX}key`;
const LABELS_ANNOTATION = `${PREFIX}labels`;
export const PROCESSES_ANNOTATION = `${PREFIX}processes`;
/** On every object of ours, so that policies and people find them. */
export const OURS = { "app.kubernetes.io/managed-by": "drover", "app.kubernetes.io/component": "sandbox" } as const;
/** Of one sandbox alone: what its network policy selects. */
export const NAME_LABEL = `${PREFIX}name`;

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

/** Unique in the namespace, so that of two creators one is refused. */
export const toName = (key: string): string => `drover-${hash(key).slice(0, 32)}`;

const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const LABEL_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const HASH_LENGTH = 60;

const toWord = (text: string, pattern: RegExp) => (pattern.test(text) ? text : `h-${hash(text).slice(0, HASH_LENGTH)}`);

export const toClusterLabels = (labels: Labels): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [`${PREFIX}${toWord(name, LABEL_NAME)}`, toWord(value, LABEL_VALUE)]),
  );

export const toSelector = (labels: Labels): string =>
  Object.entries({ ...toClusterLabels(labels), ...OURS })
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

export const toAnnotations = (key: string, labels: Labels) => ({
  [KEY_ANNOTATION]: key,
  [LABELS_ANNOTATION]: JSON.stringify(labels),
});

const Kept = z.object({ [KEY_ANNOTATION]: z.string(), [LABELS_ANNOTATION]: z.string() });

/** Undefined for an object that is none of ours. */
export function parseAnnotations(annotations: unknown): { readonly key: string; readonly labels: Labels } | undefined {
  const kept = Kept.safeParse(annotations);
  if (!kept.success) return undefined;
  const { [KEY_ANNOTATION]: key, [LABELS_ANNOTATION]: labels } = kept.data;
  return { key, labels: z.record(z.string(), z.string()).parse(JSON.parse(labels)) };
}
