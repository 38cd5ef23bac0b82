/** Builds the UI into `dist`, which the server hands out from its own port. */
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const API = process.env.DROVER_URL ?? "http://127.0.0.1:18000";

export default defineConfig(({ command }) => {
  // Whoever builds, a test run too, gets what ships: the environment must not choose React's development build.
  if (command === "build") process.env.NODE_ENV = "production";
  return {
    root: import.meta.dirname,
    plugins: [react(), tailwindcss()],
    build: {
      target: "es2022",
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 700,
      // The page's policy allows fonts and images of its own origin only, so nothing becomes a data: address.
      assetsInlineLimit: 0,
      rolldownOptions: {
        output: {
          // Zod's switch must be thrown before the first schema is made: in one part of the page, in this order.
          codeSplitting: {
            includeDependenciesRecursively: false,
            groups: [
              {
                name: "wire",
                test: /node_modules\/zod\/|zod-without-eval|packages\/(?:contract\/src\/(?!views)|client\/src)/,
              },
              { name: "react", test: /node_modules\/(?:react|react-dom|scheduler)\// },
            ],
          },
        },
      },
    },
    server: { proxy: { "/api": { target: API, ws: true } } },
  };
});
