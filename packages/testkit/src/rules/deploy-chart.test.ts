/** The Helm chart, rendered by our own renderer: what it makes is what the plain manifests are. No Helm and no cluster have seen it. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dumpYaml, loadYaml } from "@kubernetes/client-node";
import { OPTIONS, type Option } from "@drover/contract";
import { Ingress } from "kubernetes-models/networking.k8s.io/v1/Ingress";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { mergeValues, renderChart, type Chart, type Release } from "../helm/render-chart.ts";
import { complainOfObject } from "../kubernetes/published-schema.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const CHART_ROOT = "deploy/helm/drover";
const SETTINGS = new Set(Object.values(OPTIONS).flatMap((option: Option) => [option.env, ...(option.aliases ?? [])]));

// oxlint-disable-next-line typescript/no-explicit-any -- foreign documents, read by what they hold
type Foreign = any;

const CHART: Chart = {
  metadata: read(join(CHART_ROOT, "Chart.yaml")),
  values: read(join(CHART_ROOT, "values.yaml")),
  templates: Object.fromEntries(
    globSync("*", { cwd: join(ROOT, CHART_ROOT, "templates") }).map((file) => [
      file,
      read(join(CHART_ROOT, "templates", file)),
    ]),
  ),
};
const SCHEMA = z.fromJSONSchema(JSON.parse(read(join(CHART_ROOT, "values.schema.json"))) as Foreign);
const isAllowed = (over: object) => SCHEMA.safeParse(mergeValues(parse(CHART.values), over)).success;

interface Case {
  readonly release: Release;
  readonly over: Readonly<Record<string, unknown>>;
  readonly kinds: Readonly<Record<string, number>>;
}

const PLAIN: Release = { name: "drover", namespace: "drover" };
const SERVER_KINDS = { ServiceAccount: 1, Service: 2, StatefulSet: 1 };

const CASES: Readonly<Record<string, Case>> = {
  "as it comes": {
    release: PLAIN,
    over: {},
    kinds: {
      ...SERVER_KINDS,
      PersistentVolumeClaim: 1,
      PodDisruptionBudget: 1,
      Namespace: 1,
      Role: 1,
      RoleBinding: 1,
      NetworkPolicy: 1,
    },
  },
  "everything that can be given": {
    // A name that older YAML takes for a truth value.
    release: { name: "on", namespace: "1" },
    over: {
      replicas: 3,
      image: { tag: "1e3", pullPolicy: "Always", pullSecrets: [{ name: "registry" }] },
      env: { DROVER_LOG_LEVEL: "debug", DROVER_DRAIN_SECONDS: "20", KUBERNETES_RUNTIME_CLASS: "gvisor" },
      service: { type: "LoadBalancer", port: 80 },
      ingress: {
        enabled: true,
        className: "nginx",
        host: "agents.example.org",
        tlsSecret: "certificate",
        annotations: { "nginx.ingress.kubernetes.io/proxy-read-timeout": "3600" },
      },
      shared: { storageClass: "files", size: "1Ti" },
      data: { storageClass: "disks" },
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "agents", operator: "Exists", effect: "NoSchedule" }],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "on" } } },
          ],
        },
      },
      podAnnotations: { "example.org/scraped": "yes" },
      sandboxes: { namespace: "cells", image: "registry.example.org/cell:2", server: "10.1.2.0/24" },
    },
    kinds: {
      ...SERVER_KINDS,
      PersistentVolumeClaim: 1,
      PodDisruptionBudget: 1,
      Ingress: 1,
      Namespace: 1,
      Role: 1,
      RoleBinding: 1,
      NetworkPolicy: 1,
    },
  },
  "one server, as little as can be": {
    release: { name: "small", namespace: "tools" },
    over: {
      replicas: 1,
      resources: {},
      shared: { existingClaim: "files" },
      disruptionBudget: { enabled: false },
      sandboxes: { enabled: false },
    },
    kinds: SERVER_KINDS,
  },
};

function renderObjects({ release, over }: Pick<Case, "release" | "over">): readonly Foreign[] {
  const files = [...renderChart(CHART, release, over)].filter(([file]) => file.endsWith(".yaml"));
  return files.flatMap(([file, text]) => {
    const [older, newer] = (["1.1", "1.2"] as const).map((version) => {
      const documents = [...parseAllDocuments(text, { version })];
      for (const document of documents) expect(document.errors, file).toEqual([]);
      return documents.map((document) => document.toJS() as Foreign);
    });
    // Helm and Kubernetes read an older YAML than ours.
    expect(older, file).toEqual(newer);
    return (newer ?? []).filter((object) => object !== null);
  });
}

const plainObjects = (file: string): readonly Foreign[] =>
  parseAllDocuments(read(join("deploy/kubernetes", file))).map((document) => document.toJS() as Foreign);

const findIn = (objects: readonly Foreign[], kind: string, name?: string): Foreign =>
  objects.find((one) => one.kind === kind && (name === undefined || one.metadata.name === name));

/** The emulated cluster knows no such object, so it is not among those that `complainOfObject` does. */
function checkIngress(object: Foreign): void {
  new Ingress(object).validate();
  // A field that is not published is lost on the way.
  expect(parse(dumpYaml(loadYaml(stringify(object))))).toEqual(object);
}

test("an ingress with a field that is not published, or without one that is needed, is refused", () => {
  const [good] = renderObjects({ release: PLAIN, over: { ingress: { enabled: true } } }).filter(
    ({ kind }) => kind === "Ingress",
  );
  checkIngress(good);
  expect(() => checkIngress({ ...good, spec: { ...good.spec, rule: [] } })).toThrow();
  expect(() => checkIngress({ ...good, spec: { rules: [{ http: { paths: [{ path: "/" }] } }] } })).toThrow();
});

describe.for(Object.entries(CASES))("the chart, %s", ([, one]) => {
  const objects = renderObjects(one);
  const find = (kind: string, name?: string) => findIn(objects, kind, name);
  const { name, namespace } = one.release;

  test("has values that its schema allows, and makes the objects that were asked for", () => {
    expect(isAllowed(one.over)).toBe(true);
    const counted = Object.groupBy(objects, ({ kind }) => kind as string);
    expect(Object.fromEntries(Object.entries(counted).map(([kind, all]) => [kind, all?.length]))).toEqual(one.kinds);
  });

  test("makes only what the published schema wants", async () => {
    const others = objects.filter(({ kind }) => kind !== "Ingress");
    expect((await Promise.all(others.map(complainOfObject))).flat()).toEqual([]);
    for (const ingress of objects.filter(({ kind }) => kind === "Ingress")) checkIngress(ingress);
  });

  test("leaves no reference open, and sets only what is a setting", () => {
    const { spec } = find("StatefulSet", name);
    const pod = spec.template.spec;
    const [server] = pod.containers;
    expect(find("Service", spec.serviceName).spec.clusterIP).toBe("None");
    for (const { selector } of [find("Service", name).spec, find("Service", spec.serviceName).spec])
      expect(spec.template.metadata.labels).toMatchObject(selector);
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    expect(find("ServiceAccount", pod.serviceAccountName)).toBeDefined();
    const given = [...pod.volumes, ...spec.volumeClaimTemplates.map((claim: Foreign) => claim.metadata)];
    expect(new Set(server.volumeMounts.map((mount: Foreign) => mount.name))).toEqual(
      new Set(given.map((volume: Foreign) => volume.name)),
    );
    const { claimName } = pod.volumes[0].persistentVolumeClaim;
    expect(find("PersistentVolumeClaim")?.metadata.name ?? "files").toBe(claimName);
    const names: string[] = server.env.map((variable: Foreign) => variable.name);
    expect(names.filter((variable) => variable !== "POD_NAME" && !SETTINGS.has(variable))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    const valueOf = (variable: string) => server.env.find((each: Foreign) => each.name === variable)?.value;
    expect(valueOf("DROVER_PEER_URL")).toBe(`http://$(POD_NAME).${spec.serviceName}:${server.ports[0].containerPort}`);
    expect(valueOf("DROVER_SHARED_DIR")).toBe(
      server.volumeMounts.find((mount: Foreign) => mount.name === "shared").mountPath,
    );
    expect(valueOf("DROVER_ALLOWED_HOSTS")).toBe(find("Service", name).metadata.name);
    const role = find("Role");
    expect(pod.automountServiceAccountToken).toBe(role !== undefined);
    expect(valueOf("KUBERNETES_NAMESPACE")).toBe(role?.metadata.namespace);
    if (role !== undefined) {
      expect(find("RoleBinding").subjects).toEqual([{ kind: "ServiceAccount", name, namespace }]);
      expect(find("RoleBinding").roleRef.name).toBe(role.metadata.name);
      for (const kind of ["RoleBinding", "NetworkPolicy"])
        expect(find(kind).metadata.namespace).toBe(role.metadata.namespace);
      expect(find("Namespace").metadata.name).toBe(role.metadata.namespace);
    }
    const ingress = find("Ingress");
    if (ingress !== undefined) {
      const { service } = ingress.spec.rules[0].http.paths[0].backend;
      const { ports } = find("Service", service.name).spec;
      expect(ports.map((port: Foreign) => port.name)).toContain(service.port.name);
    }
  });
});

test("as it comes, the chart makes the plain manifests' servers", () => {
  const chart = renderObjects({ release: PLAIN, over: { sandboxes: { enabled: false } } });
  const plain = plainObjects("server.yaml");
  const { images } = parse(read("deploy/kubernetes/kustomization.yaml")) as Foreign;
  for (const object of plain) {
    const made = findIn(chart, object.kind, object.metadata.name);
    expect(made, `${object.kind} ${object.metadata.name}`).toBeDefined();
    if (object.kind !== "StatefulSet") {
      expect(made.spec).toEqual(
        object.kind === "Service" && made.spec.clusterIP === undefined
          ? { ...object.spec, type: "ClusterIP" }
          : object.spec,
      );
      continue;
    }
    const [server] = object.spec.template.spec.containers;
    const [image] = images;
    expect(server.image).toBe(image.name);
    expect(made.spec).toEqual({
      ...object.spec,
      template: {
        metadata: { labels: expect.objectContaining(object.spec.template.metadata.labels) },
        spec: {
          ...object.spec.template.spec,
          automountServiceAccountToken: false,
          containers: [{ ...server, image: `${image.newName}:${image.newTag}`, imagePullPolicy: "IfNotPresent" }],
        },
      },
    });
  }
});

test("as it comes, the chart makes the plain manifests' sandboxes, and the settings that these name", () => {
  const chart = renderObjects({ release: PLAIN, over: {} });
  const plain = plainObjects("sandboxes.yaml");
  for (const { kind, metadata, ...rest } of plain) {
    const made = findIn(chart, kind, metadata.name);
    expect(made).toMatchObject(rest);
    expect(made.metadata).toMatchObject(metadata);
  }
  expect(findIn(chart, "Role").rules).toEqual(findIn(plain, "Role").rules);
  const [server] = findIn(chart, "StatefulSet").spec.template.spec.containers;
  const [told = ""] = read("deploy/kubernetes/sandboxes.yaml").split("apiVersion");
  const settings = Array.from(told.matchAll(/([A-Z_]+)=([\w/=-]+)/g), ([, name, value]) => ({ name, value }));
  expect(settings).toHaveLength(3);
  expect(server.env).toEqual(expect.arrayContaining(settings));
});

test("the chart's version is the product's", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect(parse(CHART.metadata)).toMatchObject({ version, appVersion: version });
});

test.for([
  [{ replica: 3 }, "a word that is no value"],
  [{ replicas: 0 }, "no server"],
  [{ replicas: "2" }, "text for a number"],
  [{ image: { Tag: "1" } }, "a word that is no value, further in"],
  [{ env: { DROVER_DRAIN_SECONDS: 20 } }, "a number, which Helm may print with an exponent"],
  [{ env: { "not-a-setting": "x" } }, "what is no name of a variable"],
  [{ publicUrl: "drover.example.org" }, "no address"],
  [{ sandboxes: { namespace: "No_Name" } }, "no name of a namespace"],
] as const)("the schema of values refuses %j: %s", ([over]) => {
  expect(isAllowed(over)).toBe(false);
});
