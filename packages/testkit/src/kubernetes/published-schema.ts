/**
 * What Kubernetes publishes about its objects. `kubernetes-models` carries the JSON schemas of the OpenAPI document, compiled: types,
 * required fields, formats. They allow fields that nobody knows, as the document does; so the names of fields are compared with the
 * attribute maps of `@kubernetes/client-node`, made from the same document of a newer release. What a server checks beyond the document
 * (names, labels, references) is in `admission.ts`.
 */
import * as library from "@kubernetes/client-node";

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}
interface Described {
  getAttributeTypeMap(): readonly Attribute[];
}
interface Model {
  validate(): void;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Undefined for what is no object of the document: text, numbers, free-form values. */
function findDescribed(name: string): Described | undefined {
  const found: unknown = (library as Readonly<Record<string, unknown>>)[name];
  return typeof found === "function" && "getAttributeTypeMap" in found ? (found as unknown as Described) : undefined;
}

function complainOfNames(value: unknown, type: string, path: string): readonly string[] {
  const items = /^Array<(.+)>$/.exec(type)?.[1];
  if (items !== undefined)
    return Array.isArray(value)
      ? value.flatMap((item, index) => complainOfNames(item, items, `${path}[${index}]`))
      : [];
  const values = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (values !== undefined)
    return isRecord(value)
      ? Object.entries(value).flatMap(([key, inner]) => complainOfNames(inner, values, `${path}.${key}`))
      : [];
  const described = findDescribed(type);
  if (described === undefined || !isRecord(value)) return [];
  const attributes = new Map(described.getAttributeTypeMap().map((one) => [one.baseName, one.type]));
  return Object.entries(value).flatMap(([name, inner]) => {
    const inside = attributes.get(name);
    return inside === undefined ? [`${path}.${name} is not known`] : complainOfNames(inner, inside, `${path}.${name}`);
  });
}

type ModelOf = new (data: object) => Model;

/** The document's models that we use; one that is not here is a complaint, never a pass. */
const MODELS: Readonly<Record<string, () => Promise<ModelOf>>> = {
  "v1/Pod": async () => (await import("kubernetes-models/v1/Pod")).Pod as unknown as ModelOf,
  "v1/Namespace": async () => (await import("kubernetes-models/v1/Namespace")).Namespace as unknown as ModelOf,
  "v1/Service": async () => (await import("kubernetes-models/v1/Service")).Service as unknown as ModelOf,
  "v1/ServiceAccount": async () =>
    (await import("kubernetes-models/v1/ServiceAccount")).ServiceAccount as unknown as ModelOf,
  "v1/PersistentVolumeClaim": async () =>
    (await import("kubernetes-models/v1/PersistentVolumeClaim")).PersistentVolumeClaim as unknown as ModelOf,
  "apps/v1/StatefulSet": async () =>
    (await import("kubernetes-models/apps/v1/StatefulSet")).StatefulSet as unknown as ModelOf,
  "policy/v1/PodDisruptionBudget": async () =>
    (await import("kubernetes-models/policy/v1/PodDisruptionBudget")).PodDisruptionBudget as unknown as ModelOf,
  "networking.k8s.io/v1/NetworkPolicy": async () =>
    (await import("kubernetes-models/networking.k8s.io/v1/NetworkPolicy")).NetworkPolicy as unknown as ModelOf,
  "rbac.authorization.k8s.io/v1/Role": async () =>
    (await import("kubernetes-models/rbac.authorization.k8s.io/v1/Role")).Role as unknown as ModelOf,
  "rbac.authorization.k8s.io/v1/RoleBinding": async () =>
    (await import("kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding")).RoleBinding as unknown as ModelOf,
};

/** One sentence per place where an object differs from what is published. */
export async function complainOfObject(value: unknown): Promise<readonly string[]> {
  if (!isRecord(value)) return ["it is no object"];
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return ["it has no apiVersion and kind"];
  const version = apiVersion.split("/").at(-1) ?? "";
  const type = `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
  const load = MODELS[`${apiVersion}/${kind}`];
  if (findDescribed(type) === undefined || load === undefined) return [`${apiVersion} ${kind} is not known`];
  const names = complainOfNames(value, type, kind);
  try {
    const Model = await load();
    new Model(value).validate();
    return names;
  } catch (error) {
    return [...names, `${kind}: ${error instanceof Error ? error.message : String(error)}`];
  }
}
