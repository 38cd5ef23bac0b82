/** Starts the page of a file that carries a run. */
import "../data/zod-without-eval.ts";
import "../styles.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startKeys } from "../app/keys.ts";
import { startAppearance } from "../data/preferences.ts";
import { readRunFile } from "./run-file.ts";
import { RunFilePage } from "./run-file-page.tsx";

startAppearance();
startKeys();

const place = document.getElementById("app");
const run = readRunFile();
const title = run?.sandbox.prompt?.split("\n", 1)[0];
if (title !== undefined) document.title = `${title} · Drover`;
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        {run === undefined || run.events.length === 0 ? (
          <p className="grid h-dvh place-items-center p-6 text-center text-sm text-ink-2">
            {run === undefined
              ? "This file is not whole: it was cut off on its way here."
              : "Nothing happened in this run."}
          </p>
        ) : (
          <RunFilePage run={run} />
        )}
      </QueryClientProvider>
    </StrictMode>,
  );
