/** Where sandboxes can run: each provider looked at now, with what helps where it cannot. */
import type { ProviderState } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleX, RotateCw } from "lucide-react";
import { providersQuery } from "../data/queries.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";

const NAMES: Readonly<Record<string, string>> = {
  local: "This machine",
  docker: "Docker or Podman",
  daytona: "Daytona",
  kubernetes: "Kubernetes",
};
const CAN: Readonly<Record<string, string>> = {
  pause: "pauses",
  snapshot: "keeps snapshots",
  terminal: "has terminals",
  egressPolicy: "holds the network policy",
  survivesServer: "outlives the server",
};

export function Providers() {
  const providers = useQuery(providersQuery);
  return (
    <Section
      title="Providers"
      action={
        <Button size="small" disabled={providers.isFetching} onClick={() => void providers.refetch()}>
          <RotateCw size={13} className={cx(providers.isFetching && "animate-spin")} /> Look again
        </Button>
      }
    >
      {providers.isPending && <div className="skeleton m-4 h-32" role="status" aria-label="Looking at the providers" />}
      {providers.isError && (
        <div className="p-4">
          <Problem
            error={providers.error}
            what="The providers could not be read"
            onRetry={() => void providers.refetch()}
          />
        </div>
      )}
      {providers.data?.items.map((provider) => (
        <ProviderLine key={provider.name} provider={provider} />
      ))}
      <p className="px-4 py-3 text-xs text-ink-3">
        <code className="font-mono">drover doctor</code> looks at everything else this server needs, in a shell.
      </p>
    </Section>
  );
}

function ProviderLine({ provider }: { readonly provider: ProviderState }) {
  const abilities = provider.capabilities.flatMap((name) => CAN[name] ?? []);
  const Icon = provider.is_ready ? CircleCheck : CircleX;
  return (
    <div className="flex items-start gap-3 px-4 py-3" data-provider={provider.name}>
      <Icon
        size={17}
        aria-hidden
        className={cx("mt-0.5 shrink-0", provider.is_ready ? "text-live-ink" : "text-ink-3")}
      />
      <div className="min-w-0 flex-1">
        <p className="text-sm font-medium">
          {NAMES[provider.name] ?? provider.name}
          {provider.is_default && <span className="ml-2 text-xs font-normal text-ink-3">unless another is named</span>}
        </p>
        <p className="text-xs break-words text-ink-3">
          {provider.is_ready ? abilities.join(", ") || "ready" : provider.problem}
        </p>
      </div>
      <span className={cx("text-xs font-medium", provider.is_ready ? "text-live-ink" : "text-wait-ink")}>
        {provider.is_ready ? "ready" : "not here"}
      </span>
    </div>
  );
}
