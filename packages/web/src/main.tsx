/** Starts the page. */
import "./data/zod-without-eval.ts";
import "./styles.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startKeys } from "./app/keys.ts";
import { startReleaseWatch } from "./app/new-release.ts";
import { startAppearance } from "./data/preferences.ts";
import { queryClient } from "./data/queries.ts";
import { router } from "./router.tsx";

startAppearance();
startKeys();
startReleaseWatch(new URL(import.meta.url).pathname);

const place = document.getElementById("app");
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
