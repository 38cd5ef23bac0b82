/** What an API server checks of an object beyond its schema, as far as this emulator is asked for it. */
import type { V1Container, V1NetworkPolicy, V1Pod } from "@kubernetes/client-node";

const NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const LABEL_NAME = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const QUANTITY = /^\d+(?:\.\d+)?(?:m|k|M|G|T|Ki|Mi|Gi|Ti)?$/;
const VARIABLE = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;

const complainOfLabels = (labels: Readonly<Record<string, string>> | undefined, what: string): readonly string[] =>
  Object.entries(labels ?? {}).flatMap(([name, value]) => [
    ...(LABEL_NAME.test(name) ? [] : [`${what}: ${name} is no name of a label`]),
    ...(LABEL_VALUE.test(value) ? [] : [`${what}: ${value} is no value of a label`]),
  ]);

export const complainOfMetadata = (object: V1Pod | V1NetworkPolicy): readonly string[] => [
  ...(NAME.test(object.metadata?.name ?? "") ? [] : [`${object.metadata?.name} is no name`]),
  ...complainOfLabels(object.metadata?.labels, "labels"),
  ...Object.keys(object.metadata?.annotations ?? {})
    .filter((name) => !LABEL_NAME.test(name))
    .map((name) => `${name} is no name of an annotation`),
];

function complainOfContainer(container: V1Container, volumes: ReadonlySet<string>): readonly string[] {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const isMore = (name: string) => limits[name] !== undefined && requests[name] !== limits[name];
  return [
    ...Object.values({ ...requests, ...limits }).flatMap((text) =>
      QUANTITY.test(text) ? [] : [`${text} is no quantity`],
    ),
    ...Object.keys(requests).flatMap((name) => (isMore(name) ? [`${name}: requests and limits differ`] : [])),
    ...(container.volumeMounts ?? []).flatMap(({ name }) => (volumes.has(name) ? [] : [`no volume ${name}`])),
    ...(container.env ?? []).flatMap(({ name }) => (VARIABLE.test(name) ? [] : [`${name} is no variable`])),
    ...(container.image === undefined || container.image === "" ? ["no image"] : []),
  ];
}

/** Of the restricted standard for pods, https://kubernetes.io/docs/concepts/security/pod-security-standards/, which a namespace of
 *  sandboxes should enforce. */
function complainOfPrivileges({ spec }: V1Pod): readonly string[] {
  const of = (isKept: boolean | undefined, what: string) => (isKept === true ? [] : [`restricted: ${what}`]);
  return [
    ...of(spec?.hostNetwork !== true && spec?.hostPID !== true && spec?.hostIPC !== true, "host namespaces"),
    ...of(
      spec?.volumes?.every((one) => one.emptyDir !== undefined),
      "volumes",
    ),
    ...(spec?.containers ?? []).flatMap(({ securityContext: own }) => [
      ...of(own?.allowPrivilegeEscalation === false, "allowPrivilegeEscalation"),
      ...of(own?.capabilities?.drop?.includes("ALL"), "capabilities"),
      ...of(own?.runAsNonRoot ?? spec?.securityContext?.runAsNonRoot, "runAsNonRoot"),
      ...of(
        (own?.seccompProfile ?? spec?.securityContext?.seccompProfile)?.type === "RuntimeDefault",
        "seccompProfile",
      ),
    ]),
  ];
}

export function complainOfPod(pod: V1Pod): readonly string[] {
  const volumes = new Set(pod.spec?.volumes?.map(({ name }) => name));
  return [
    ...complainOfMetadata(pod),
    ...(pod.spec?.containers ?? []).flatMap((container) => complainOfContainer(container, volumes)),
    ...complainOfPrivileges(pod),
  ];
}
