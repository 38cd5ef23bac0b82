/** Builds the UI into `dist`, which the server hands out from its own port. */
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Zod's makers of JSON schemas, which hang on every schema and which no page calls: 6 kB that nobody waits for any more. */
const leaveOutJsonSchema: Plugin = {
  name: "leave-out-json-schema",
  transform: {
    filter: { id: /\/zod\/v4\/core\/(?:json-schema-processors|to-json-schema)\.js$/ },
    handler: (code) => {
      const names = [...code.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name);
      return { code: names.map((name) => `export const ${name} = () => undefined;`).join("\n"), map: null };
    },
  },
};

const API = process.env.DROVER_URL ?? "http://127.0.0.1:18000";

export default defineConfig(({ command }) => {
  // Whoever builds, a test run too, gets what ships: the environment must not choose React's development build.
  if (command === "build") process.env.NODE_ENV = "production";
  return {
    root: import.meta.dirname,
    plugins: [react(), tailwindcss(), leaveOutJsonSchema],
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
              // A request per icon costs more than all icons: what the start needs is one part; icons and components another.
              { name: "shell", tags: ["$initial"] },
              {
                name: "components",
                test: /node_modules\/(?:lucide-react|@radix-ui)\/|packages\/web\/src\/ui\/(?!chart)/,
              },
            ],
          },
        },
      },
    },
    server: { proxy: { "/api": { target: API, ws: true } } },
  };
});
