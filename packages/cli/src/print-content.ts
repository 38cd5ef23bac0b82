/** What agents and repositories wrote, on standard output: every byte of it through a pipe, and nothing on a terminal that could steer it. */
import { toSafeText } from "./terminal.ts";
import type { Context } from "./verb.ts";

export async function printContent(context: Context, content: string | Response): Promise<void> {
  if (context.isOnTerminal)
    return context.write("out", toSafeText(typeof content === "string" ? content : await content.text()));
  if (typeof content === "string") return context.write("out", content);
  if (content.body !== null) for await (const chunk of content.body) context.write("out", chunk);
  return undefined;
}
