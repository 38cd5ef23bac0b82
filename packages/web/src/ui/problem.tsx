/** What went wrong, when, under which request; and a way on. */
import { ClientError } from "@drover/client";
import { RotateCw, TriangleAlert } from "lucide-react";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";

interface ProblemProps {
  readonly error: unknown;
  readonly what: string;
  readonly onRetry?: () => void;
}

const explain = (error: unknown): string => {
  if (error instanceof ClientError) {
    if (error.code === "client.unreachable")
      return "The server does not answer. It may be restarting; nothing is lost.";
    return error.problem?.detail ?? error.message;
  }
  return error instanceof Error ? error.message : "Something unexpected went wrong in this page.";
};

export function Problem({ error, what, onRetry }: ProblemProps) {
  const requestId = error instanceof ClientError ? error.problem?.request_id : undefined;
  return (
    <div
      role="alert"
      className="mx-auto flex max-w-xl animate-enter flex-col gap-3 rounded-2xl border border-fail/40 bg-fail-soft p-5 text-fail-ink"
    >
      <p className="flex items-center gap-2 font-semibold">
        <TriangleAlert size={17} aria-hidden /> {what}
      </p>
      <p className="text-sm break-words">{explain(error)}</p>
      <div className="flex flex-wrap items-center gap-2">
        {onRetry !== undefined && (
          <Button size="small" onClick={onRetry}>
            <RotateCw size={13} /> Try again
          </Button>
        )}
        {requestId !== undefined && (
          <>
            <code className="font-mono text-xs">request {requestId}</code>
            <CopyButton text={requestId} name="request id" />
          </>
        )}
      </div>
    </div>
  );
}
