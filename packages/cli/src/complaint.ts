/** What went wrong and what to do about it, in words. */
import { ClientError, type ClientErrorCode } from "@drover/client";
import { AppError, type ErrorCode } from "@drover/contract";
import { UsageError } from "./exit-code.ts";

/** What a person can do; errors without a line speak for themselves. */
const ADVICE: Partial<Record<ClientErrorCode | ErrorCode, string>> = {
  "client.unreachable": "Start the server with: drover up",
  "client.bad_reply": "Client and server may be of different versions; update the older one.",
  "auth.required": "Give a valid token: --token-file <path>, or DROVER_TOKEN in the environment.",
  "auth.forbidden": "Use a token with a role that allows it; `drover token create` makes one.",
  "sandbox.not_found": "`drover ls --all` lists the sandboxes this token may see.",
  "project.not_found": "`drover project list` lists them.",
  "archive.invalid": "The file is no archive of Drover, or it was changed after it was made.",
  "ticket.not_found": "`drover ticket list` lists them.",
  "ticket.duplicate": "Add --force to make it anyway.",
  "task.not_found": "`drover task list` lists them.",
  "pull_request.not_found": "`drover pr list` lists them.",
  "budget.not_found": "`drover budgets` lists them.",
  "price.not_found": "`drover prices` lists them.",
  "webhook.not_found": "`drover webhook list` lists them.",
  "webhook.refused": "The operator may allow it: DROVER_WEBHOOK_ALLOW.",
  "token.not_found": "`drover token list` lists them.",
  "config.invalid": "`drover config` shows every setting and where it comes from.",
  "data_dir.newer": "Use the version of Drover that wrote it, or another --data-dir.",
  "data_dir.full": "Free some space, or move the data with --data-dir.",
  "database.unavailable": "Check DATABASE_URL, and that the database accepts connections.",
  "database.start_failed": "Use a PostgreSQL of your own with DATABASE_URL, or another --data-dir.",
  "migration.newer": "Start the newer version of Drover that migrated this database.",
};

const toSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

export function describeError(error: unknown): string {
  if (error instanceof UsageError) {
    return `${toSentence(error.message)}\nSee: drover help${error.verb === undefined ? "" : ` ${error.verb}`}`;
  }
  if (error instanceof ClientError || error instanceof AppError) {
    const lines = error.message.split("\n").map(toSentence);
    const told = error instanceof ClientError ? (error.problem?.errors ?? []) : [];
    // A single wrong field is already what the message says.
    const fields = told.filter((field) => !error.message.includes(`${field.path}: ${field.message}`));
    const advice = ADVICE[error.code];
    return [
      ...lines,
      ...fields.map((field) => `  ${field.path}: ${field.message}`),
      ...(advice === undefined ? [] : [advice]),
    ].join("\n");
  }
  if (error instanceof Error)
    return error.name === "Error" ? (error.stack ?? error.message) : toSentence(error.message);
  return String(error);
}
