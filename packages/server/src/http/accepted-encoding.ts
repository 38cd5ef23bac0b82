/** Which of our encodings a caller takes, as its Accept-Encoding says. */

/** The first of ours that is named and not refused (`q=0`). */
export function pickEncoding<Name extends string>(
  accepted: string | readonly string[] | undefined,
  ours: readonly Name[],
): Name | undefined {
  const names = String(accepted ?? "")
    .split(",")
    .flatMap((choice) => {
      const [name = "", ...parameters] = choice.toLowerCase().split(";");
      return parameters.some((parameter) => /^\s*q=0(?:\.0*)?\s*$/.test(parameter)) ? [] : [name.trim()];
    });
  return ours.find((name) => names.includes(name));
}
