/** What stands where a page cannot: while it opens, when it fails, where there is none. */
import { Link, useRouter } from "@tanstack/react-router";
import { Mark } from "../ui/mark.tsx";
import { Problem } from "../ui/problem.tsx";

export function Opening() {
  return (
    <div className="grid h-full place-items-center" role="status" aria-label="Opening">
      <span className="animate-breathe">
        <Mark size={40} />
      </span>
    </div>
  );
}

export function Failed({ error, reset }: { readonly error: unknown; readonly reset?: () => void }) {
  const router = useRouter();
  const retry = () => {
    reset?.();
    void router.invalidate();
  };
  return (
    <div className="grid h-full place-items-center p-6">
      <Problem error={error} what="This page could not be shown" onRetry={retry} />
    </div>
  );
}

export function NotFound() {
  return (
    <main className="grid h-full place-items-center p-6 text-center">
      <div>
        <h1 className="text-xl font-semibold tracking-tight">There is nothing at this address</h1>
        <p className="mt-2 text-sm text-ink-2">
          Go back to your{" "}
          <Link to="/sandboxes" className="font-medium text-live-ink underline underline-offset-2">
            sandboxes
          </Link>
          .
        </p>
      </div>
    </main>
  );
}
