/** What ships for several servers names only what exists: settings, files, hosts, volumes, labels. None of it is run here: `npm run compose` does. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { OPTIONS, type Option } from "@drover/contract";
import { expect, test } from "vitest";
import { parseAllDocuments, parseDocument } from "yaml";
import { complainOfObject } from "../kubernetes/published-schema.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const SETTINGS = new Set(Object.values(OPTIONS).flatMap((option: Option) => [option.env, ...(option.aliases ?? [])]));

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly hostname?: string;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
}

test("compose.yaml: two servers that share what they must, behind the proxy that ships", () => {
  const document = parseDocument(read("compose.yaml"), { merge: true });
  expect(document.errors).toEqual([]);
  const { services, volumes } = document.toJS() as {
    services: Record<string, Service>;
    volumes: Record<string, unknown>;
  };
  for (const [name, service] of Object.entries(services)) {
    for (const volume of service.volumes ?? []) {
      const [from = ""] = volume.split(":");
      if (from.startsWith(".")) expect(existsSync(join(ROOT, from)), `${name}: ${from}`).toBe(true);
      else expect(Object.keys(volumes), name).toContain(from);
    }
    const needed = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {});
    for (const other of needed) expect(Object.keys(services), name).toContain(other);
  }
  const servers = ["server-a", "server-b"].map((name) => services[name]);
  for (const [index, server] of servers.entries()) {
    expect(Object.keys(server?.environment ?? {}).filter((name) => !SETTINGS.has(name))).toEqual([]);
    expect(server?.environment?.["DROVER_PEER_URL"]).toBe(`http://${server?.hostname}:18000`);
    expect(server?.hostname).toBe(["server-a", "server-b"][index]);
    // Without the last three no sandbox starts in there; the first two are what makes that no loss.
    expect([...(server?.cap_drop ?? []), ...(server?.security_opt ?? [])]).toEqual([
      "ALL",
      "no-new-privileges:true",
      "seccomp=unconfined",
      "apparmor=unconfined",
      "systempaths=unconfined",
    ]);
    expect(server?.volumes?.some((volume) => volume.endsWith(`:${server.environment?.["DROVER_SHARED_DIR"]}`))).toBe(
      true,
    );
    expect(read("deploy/nginx.conf")).toContain(`server ${server?.hostname}:18000 `);
  }
  expect(servers[0]?.environment?.["DATABASE_URL"]).toBe(servers[1]?.environment?.["DATABASE_URL"]);
});

test("the Kubernetes manifests: every reference leads somewhere, every setting is one", () => {
  const { resources } = parseDocument(read("deploy/kubernetes/kustomization.yaml")).toJS() as { resources: string[] };
  // oxlint-disable-next-line typescript/no-explicit-any -- foreign documents, read by what they hold
  const objects: any[] = resources.flatMap((path) =>
    parseAllDocuments(read(join("deploy/kubernetes", path))).map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS();
    }),
  );
  for (const one of objects)
    expect([one.apiVersion, one.kind, one.metadata.name]).toEqual([...Array(3)].map(() => expect.any(String)));
  const find = (kind: string, name?: string) =>
    objects.find((one) => one.kind === kind && (name === undefined || one.metadata.name === name));
  const { spec } = find("StatefulSet");
  const [server] = spec.template.spec.containers;
  expect(find("Service", spec.serviceName).spec.clusterIP).toBe("None");
  for (const { spec: chosen } of [find("Service", "drover"), find("Service", spec.serviceName)])
    expect(spec.template.metadata.labels).toMatchObject(chosen.selector);
  expect(find("ServiceAccount", spec.template.spec.serviceAccountName)).toBeDefined();
  const given = [
    ...spec.template.spec.volumes,
    ...spec.volumeClaimTemplates.map((one: { metadata: object }) => one.metadata),
  ];
  expect(server.volumeMounts.map((one: { name: string }) => one.name).toSorted()).toEqual(
    given.map((one: { name: string }) => one.name).toSorted(),
  );
  expect(find("PersistentVolumeClaim", spec.template.spec.volumes[0].persistentVolumeClaim.claimName)).toBeDefined();
  const names = server.env.map((one: { name: string }) => one.name).filter((name: string) => name !== "POD_NAME");
  expect(names.filter((name: string) => !SETTINGS.has(name))).toEqual([]);
});

test("the Kubernetes manifests: every object is as the published schema wants it", async () => {
  const files = ["namespace.yaml", "server.yaml", "sandboxes.yaml"];
  const objects = files.flatMap((file) =>
    parseAllDocuments(read(join("deploy/kubernetes", file))).map((document) => document.toJS()),
  );
  expect(objects).toHaveLength(10);
  expect((await Promise.all(objects.map(complainOfObject))).flat()).toEqual([]);
  const spoilt = (kind: string, spec: object) => ({ ...objects.find((one) => one.kind === kind), ...spec });
  expect(await complainOfObject(spoilt("Role", { rule: [] }))).toEqual(["Role.rule is not known"]);
  expect(await complainOfObject(spoilt("Service", { spec: { ports: [{ port: "x" }] } }))).not.toEqual([]);
  expect(await complainOfObject(spoilt("RoleBinding", { roleRef: undefined }))).not.toEqual([]);
});
