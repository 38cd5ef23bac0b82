/** Which images there are, and the commands that build them. */

interface Image {
  /** As it is asked for. */
  readonly name: string;
  readonly repository: string;
  readonly dockerfile: string;
  readonly context: string;
}

export const IMAGES: readonly Image[] = [
  { name: "server", repository: "drover", dockerfile: "Dockerfile", context: "." },
  { name: "sandbox", repository: "drover-sandbox", dockerfile: "docker/Dockerfile", context: "docker" },
];

export interface Plan {
  /** None: all of them. */
  readonly names: readonly string[];
  /** Where the engine answers: `unix://…` or `tcp://…`. */
  readonly host: string;
  readonly version: string;
}

/** A command per image, to be run at the repository's root. */
export function planBuilds({ names, host, version }: Plan): readonly (readonly string[])[] {
  const unknown = names.filter((name) => !IMAGES.some((image) => image.name === name));
  if (unknown.length > 0)
    throw new Error(`images knows ${IMAGES.map(({ name }) => name).join(", ")}; not ${unknown.join(", ")}`);
  return IMAGES.filter(({ name }) => names.length === 0 || names.includes(name)).map(
    ({ repository, dockerfile, context }) => {
      const tags = [repository, `${repository}:${version}`].flatMap((tag) => ["--tag", tag]);
      return ["docker", "--host", host, "build", "--file", dockerfile, ...tags, context];
    },
  );
}
