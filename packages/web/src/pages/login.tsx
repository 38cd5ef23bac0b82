/** The door: a token, or the one-time code that the start-up line printed, which logs in at once. */
import { ClientError } from "@drover/client";
import { useMutation } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { KeyRound, LoaderCircle } from "lucide-react";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { queryClient, whoamiQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Mark } from "../ui/mark.tsx";

function explain(error: unknown, isCode: boolean): string {
  if (!(error instanceof ClientError)) return "Something unexpected went wrong in this page.";
  switch (error.code) {
    case "auth.required":
      return isCode
        ? "This login link was used already or is too old. Restart the server for a new one, or enter a token."
        : "This token is not known here, or it was revoked or has expired.";
    case "client.unreachable":
      return "The server does not answer. Is it running?";
    case "request.rate_limited":
      return "Too many attempts. Wait a minute, then try again.";
    default:
      return error.problem?.detail ?? error.message;
  }
}

export function LoginPage() {
  const router = useRouter();
  const { return: back } = useSearch({ from: "/login" });
  const [token, setToken] = useState("");
  const login = useMutation({
    mutationFn: (given: { readonly token: string; readonly isCode: boolean }) =>
      client.login({ body: { token: given.token } }),
    onSuccess: (whoami) => {
      queryClient.clear();
      queryClient.setQueryData(whoamiQuery.queryKey, whoami);
      return router.navigate({ href: back ?? "/", replace: true });
    },
  });
  const { mutate } = login;
  const isCodeUsed = useRef(false);
  useEffect(() => {
    const code = decodeURIComponent(location.hash.slice(1));
    if (code === "" || isCodeUsed.current) return;
    // Works once only, and must not stay in the address bar or the history.
    isCodeUsed.current = true;
    history.replaceState(history.state, "", location.pathname + location.search);
    mutate({ token: code, isCode: true });
  }, [mutate]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== "") mutate({ token: token.trim(), isCode: false });
  };
  return (
    <main className="grid h-full overflow-y-auto lg:grid-cols-[1.1fr_1fr]">
      <section className="relative hidden overflow-hidden bg-[oklch(0.2_0.025_163)] p-14 text-[oklch(0.95_0.01_100)] lg:flex lg:flex-col lg:justify-between">
        <Trails />
        <div className="relative flex items-center gap-3 text-lg font-semibold tracking-tight">
          <Mark size={36} /> Drover
        </div>
        <div className="relative max-w-md">
          <p className="text-4xl leading-[1.12] font-semibold tracking-tight text-balance">
            Many agents. One steady hand.
          </p>
          <p className="mt-4 text-[oklch(0.82_0.02_140)]">
            Watch every move live, steer in the middle of a turn, and lose nothing on the way.
          </p>
        </div>
      </section>
      <section className="grid place-items-center p-6">
        <form onSubmit={submit} className="w-full max-w-sm">
          <div className="mb-6 flex items-center gap-3 lg:hidden">
            <Mark size={36} />
            <span className="text-lg font-semibold tracking-tight">Drover</span>
          </div>
          <h1 className="text-2xl font-semibold tracking-tight">Log in</h1>
          <p className="mt-1.5 mb-6 text-sm text-ink-2">
            Use the link that <code className="font-mono text-xs">npm start</code> printed, or a token of yours.
          </p>
          <Field
            label="Token"
            name="token"
            type="password"
            autoComplete="current-password"
            autoFocus
            spellCheck={false}
            placeholder="drv_u_…"
            className="font-mono"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            complaint={login.isError ? explain(login.error, login.variables.isCode) : undefined}
          />
          <Button type="submit" look="solid" className="mt-4 w-full" disabled={login.isPending || token.trim() === ""}>
            {login.isPending ? <LoaderCircle size={16} className="animate-spin" /> : <KeyRound size={16} />}
            {login.isPending ? "Logging in" : "Log in"}
          </Button>
          <p role="alert" className="sr-only">
            {login.isError ? explain(login.error, login.variables.isCode) : ""}
          </p>
        </form>
      </section>
    </main>
  );
}

/** Trails that run side by side and meet. */
function Trails() {
  return (
    <svg
      viewBox="0 0 600 800"
      preserveAspectRatio="xMidYMid slice"
      className="absolute inset-0 size-full opacity-70"
      aria-hidden
    >
      {Array.from({ length: 11 }, (_, n) => (
        <path
          key={n}
          d={`M ${-60 + n * 66} 820 C ${-20 + n * 60} 560, ${120 + n * 34} 470, ${300 + (n - 5) * 9} 330 S ${470 + n * 5} 120, ${560 + n * 14} -20`}
          fill="none"
          stroke={n === 5 ? "oklch(0.78 0.145 163)" : "oklch(0.42 0.045 163)"}
          strokeWidth={n === 5 ? 2.4 : 1.2}
        />
      ))}
      {[
        [300, 330],
        [276, 352],
        [331, 301],
        [245, 384],
      ].map(([cx, cy], n) => (
        <circle
          key={n}
          cx={cx}
          cy={cy}
          r={n === 0 ? 5 : 3.4}
          fill={n === 0 ? "oklch(0.78 0.145 163)" : "oklch(0.95 0.01 100)"}
        />
      ))}
    </svg>
  );
}
