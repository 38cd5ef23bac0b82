/** Starts the page. */
import "./data/zod-without-eval.ts";
import "./styles.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startKeys } from "./app/keys.ts";
import { startAppearance } from "./data/preferences.ts";
import { queryClient } from "./data/queries.ts";
import { router } from "./router.tsx";

// After a new release the old parts of the page are gone: load the new page, once.
window.addEventListener("vite:preloadError", (failure) => {
  if (sessionStorage.getItem("drover.reloaded") === location.href) return;
  failure.preventDefault();
  sessionStorage.setItem("drover.reloaded", location.href);
  location.reload();
});

startAppearance();
startKeys();

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
