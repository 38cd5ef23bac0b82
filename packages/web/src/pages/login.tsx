/** The door: a token, or the one-time code that the start-up line printed, which logs in at once. */
import { ClientError } from "@drover/client";
import { useMutation } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { KeyRound, LoaderCircle } from "lucide-react";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { queryClient, whoamiQuery } from "../data/queries.ts";
import { session } from "../data/session.ts";
import { parseLoginSearch } from "../search-params.ts";
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
  const { return: back } = parseLoginSearch(useSearch({ from: "/login" }));
  const [token, setToken] = useState("");
  const login = useMutation({
    mutationFn: (given: { readonly token: string; readonly isCode: boolean }) =>
      client.login({ body: { token: given.token } }),
    onSuccess: (whoami) => {
      session.enter();
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
        <div className="absolute inset-x-0 bottom-0 h-3/5 bg-linear-to-t from-[oklch(0.2_0.025_163)] via-[oklch(0.2_0.025_163/0.85)] to-transparent" />
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

type Point = readonly [number, number];

/** Eleven trails from below that meet in one place: each a cubic curve to it, and one onward. */
const toTrail = (n: number): readonly [Point, Point, Point, Point] => [
  [-60 + n * 66, 820],
  [-20 + n * 60, 560],
  [120 + n * 34, 470],
  [300 + (n - 5) * 9, 330],
];

const toPoint = ([a, b, c, d]: ReturnType<typeof toTrail>, t: number): Point => {
  const at = (axis: 0 | 1) =>
    (1 - t) ** 3 * a[axis] + 3 * (1 - t) ** 2 * t * b[axis] + 3 * (1 - t) * t ** 2 * c[axis] + t ** 3 * d[axis];
  return [at(0), at(1)];
};

/** Who walks where: trail and distance, from 0 to 1. */
const WALKERS: readonly (readonly [number, number])[] = [
  [1, 0.55],
  [2, 0.78],
  [3, 0.62],
  [4, 0.86],
  [6, 0.7],
  [7, 0.5],
  [8, 0.82],
  [9, 0.6],
];

function Trails() {
  return (
    <svg viewBox="0 0 600 800" preserveAspectRatio="xMidYMid slice" className="absolute inset-0 size-full" aria-hidden>
      {Array.from({ length: 11 }, (_, n) => {
        const [a, b, c, d] = toTrail(n);
        return (
          <path
            key={n}
            d={`M ${a.join(" ")} C ${b.join(" ")}, ${c.join(" ")}, ${d.join(" ")} S ${470 + n * 5} 120, ${560 + n * 14} -20`}
            fill="none"
            stroke={n === 5 ? "oklch(0.72 0.13 163)" : "oklch(0.33 0.035 163)"}
            strokeWidth={n === 5 ? 2.2 : 1.2}
          />
        );
      })}
      {WALKERS.map(([n, t]) => {
        const [x, y] = toPoint(toTrail(n), t);
        return <circle key={n} cx={x} cy={y} r={3.2} fill="oklch(0.86 0.02 130)" />;
      })}
      <circle cx={300} cy={330} r={5.5} fill="oklch(0.78 0.145 163)" />
    </svg>
  );
}
