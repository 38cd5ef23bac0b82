/** Patterns of paths: `*` and `?` within one name, `**` across names, `{a,b}` either. */

const SPECIAL = /[\\^$.|+()[\]]/g;
const ALTERNATIVES_LIMIT = 64;

/** `{a,b}` written out; what is not closed is taken as it stands. */
function expandBraces(glob: string): readonly string[] {
  const found = /\{([^{}]*,[^{}]*)\}/.exec(glob);
  if (found === null) return [glob];
  const [whole, inner = ""] = found;
  const [before, after] = [glob.slice(0, found.index), glob.slice(found.index + whole.length)];
  return inner
    .split(",")
    .flatMap((one) => expandBraces(`${before}${one}${after}`))
    .slice(0, ALTERNATIVES_LIMIT);
}

const NAME_PARTS: Readonly<Record<string, string>> = { "*": "[^/]*", "?": "[^/]" };

function toNamePattern(name: string): string {
  return name.replaceAll(SPECIAL, "\\$&").replaceAll(/[*?]/g, (one) => NAME_PARTS[one] ?? one);
}

function toPattern(glob: string): string {
  const names = glob.split("/");
  return names
    .map((name, index) => {
      const isLast = index === names.length - 1;
      if (name === "**") return isLast ? ".*" : "(?:[^/]+/)*";
      return toNamePattern(name) + (isLast ? "" : "/");
    })
    .join("");
}

/** A directory's name means everything in it. */
const toFull = (glob: string): string => {
  const plain = glob.replace(/^\.?\//, "");
  return plain.endsWith("/") ? `${plain}**` : plain;
};

export const matchesGlob = (glob: string, path: string): boolean =>
  expandBraces(toFull(glob)).some((one) =>
    new RegExp(`^${toPattern(one)}(?:${one.includes("*") ? "" : "/.*"})?$`, "s").test(path.replace(/^\.?\//, "")),
  );
