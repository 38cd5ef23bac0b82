/** The first page of a new installation: one click to see an agent work. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { LoaderCircle, Play, Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import { client } from "../data/client.ts";
import { useMay } from "../data/use-may.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Empty } from "../ui/empty.tsx";
import { Problem } from "../ui/problem.tsx";

const ClaudeDemo = lazy(() => import("../agents/claude-demo.tsx").then((module) => ({ default: module.ClaudeDemo })));

const toCurl = (origin: string) =>
  `curl -X POST ${origin}/api/v1/sandboxes -H "Authorization: Bearer $DROVER_TOKEN" -H "Content-Type: application/json" -d '{"provider":"external","prompt":"Say hello"}'`;

export function NoSandbox({ onCreate }: { readonly onCreate: () => void }) {
  const navigate = useNavigate();
  const demo = useMutation({
    mutationFn: (runtime: "scripted" | "claude") => client.startDemo({ body: { runtime } }),
    onSuccess: (sandbox) => navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: sandbox.id } }),
  });
  const mayOperate = useMay("operate");
  const curl = toCurl(location.origin);
  if (!mayOperate)
    return (
      <Empty title="No sandbox yet">
        As soon as somebody starts one you can watch it here. Your role may look, and not start any.
      </Empty>
    );
  return (
    <div className="mx-auto flex max-w-2xl flex-col items-center gap-6 py-[10vh] text-center">
      <Herd />
      <div>
        <h2 className="text-3xl font-semibold tracking-tight">No sandbox yet</h2>
        <p className="mx-auto mt-2 max-w-md text-ink-2 text-pretty">
          Watch a scripted agent read, edit, test and answer you, from start to finish. It needs no key and takes about
          a minute.
        </p>
      </div>
      <div className="flex flex-wrap justify-center gap-2.5">
        <Button look="solid" size="large" onClick={() => demo.mutate("scripted")} disabled={demo.isPending}>
          {demo.isPending ? (
            <LoaderCircle size={19} className="animate-spin" />
          ) : (
            <Play size={19} className="fill-current" />
          )}
          {demo.isPending ? "Starting the demo" : "Run the demo"}
        </Button>
        <Button size="large" onClick={onCreate}>
          <Plus size={18} /> Bring your own worker
        </Button>
      </div>
      {demo.isError && <Problem error={demo.error} what="The demo did not start" onRetry={() => demo.reset()} />}
      <Suspense>
        <ClaudeDemo isBusy={demo.isPending} onStart={() => demo.mutate("claude")} />
      </Suspense>
      <div className="mt-4 w-full text-left">
        <p className="mb-1.5 text-xs text-ink-3">Or from a shell:</p>
        <div className="flex items-center gap-2 rounded-xl border border-line bg-surface py-1.5 pr-1.5 pl-3">
          <code
            className="min-w-0 flex-1 overflow-x-auto font-mono text-xs whitespace-nowrap text-ink-2"
            tabIndex={0}
            role="region"
            aria-label="curl command"
          >
            {curl}
          </code>
          <CopyButton text={curl} name="the command" />
        </div>
      </div>
    </div>
  );
}

/** Dots that fall into line. */
function Herd() {
  return (
    <svg viewBox="0 0 240 96" width={240} height={96} aria-hidden className="text-ink-3">
      <path
        d="M8 78 C 70 78, 84 22, 140 22 S 216 40, 232 18"
        fill="none"
        stroke="var(--line-strong)"
        strokeWidth="1.5"
        strokeDasharray="3 5"
        strokeLinecap="round"
      />
      {[
        [232, 18, 6, "var(--live)"],
        [201, 31, 4.5, "currentColor"],
        [172, 25, 4.5, "currentColor"],
        [140, 22, 4.5, "currentColor"],
        [96, 58, 3.6, "var(--line-strong)"],
        [60, 84, 3.6, "var(--line-strong)"],
        [36, 58, 3.6, "var(--line-strong)"],
      ].map(([cx, cy, r, fill], n) => (
        <circle
          key={n}
          cx={cx}
          cy={cy}
          r={r}
          fill={String(fill)}
          className={n === 0 ? "origin-[232px_18px] animate-breathe" : ""}
        />
      ))}
    </svg>
  );
}
