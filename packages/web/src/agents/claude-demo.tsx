/** The demo with the real Claude Agent SDK, on recorded answers: at once when it is installed, else the way to get it. */
import { useQuery } from "@tanstack/react-query";
import { LoaderCircle, Play } from "lucide-react";
import { Button } from "../ui/button.tsx";
import { PackageState } from "./package-state.tsx";
import { packagesQuery } from "./queries.ts";

export function ClaudeDemo({ isBusy, onStart }: { readonly isBusy: boolean; readonly onStart: () => void }) {
  const packages = useQuery(packagesQuery);
  const claude = packages.data?.items.find((item) => item.name === "claude");
  if (claude === undefined) return null;
  return (
    <div className="flex flex-wrap items-center justify-center gap-x-4 gap-y-2 rounded-xl border border-line bg-surface px-4 py-3 text-left">
      <p className="max-w-sm text-sm text-ink-2 text-pretty">
        Or watch the real Claude Agent SDK work in a sandbox. The model's answers are recorded, so it needs no key.
      </p>
      {claude.state === "installed" ? (
        <Button onClick={onStart} disabled={isBusy}>
          {isBusy ? <LoaderCircle size={15} className="animate-spin" /> : <Play size={15} />} Run it with Claude
        </Button>
      ) : (
        <PackageState item={claude} />
      )}
    </div>
  );
}
