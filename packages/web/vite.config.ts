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

/** What a page needs beyond the entry, by the name that `public/start.js` knows it by. */
const PAGES = { run: "src/pages/run.tsx", wall: "src/wall/wall-page.tsx" } as const;

/** Names the parts of the two pages at which most visits begin, so that all are asked for at once and not one after the other. */
const namePartsOfPages: Plugin = {
  name: "name-parts-of-pages",
  transformIndexHtml: {
    order: "post",
    handler: (html, { bundle }) => {
      if (bundle === undefined) return html;
      const chunks = new Map(
        Object.values(bundle).flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])),
      );
      const list = (name: string, seen: Set<string>): Set<string> => {
        if (seen.has(name)) return seen;
        seen.add(name);
        for (const next of chunks.get(name)?.imports ?? []) list(next, seen);
        return seen;
      };
      const attributes = Object.entries(PAGES).map(([page, module]) => {
        const start = [...chunks.values()].find(({ moduleIds }) =>
          moduleIds.some((id) => id.endsWith(`/web/${module}`)),
        );
        if (start === undefined) throw new Error(`no part of the page holds ${module}`);
        const parts = [...list(start.fileName, new Set())].filter((name) => !html.includes(name));
        return `data-${page}="${parts.map((name) => `/${name}`).join(" ")}"`;
      });
      return html.replace('src="/start.js"', `src="/start.js" ${attributes.join(" ")}`);
    },
  },
};

const API = process.env.DROVER_URL ?? "http://127.0.0.1:18000";

export default defineConfig(({ command }) => {
  // Whoever builds, a test run too, gets what ships: the environment must not choose React's development build.
  if (command === "build") process.env.NODE_ENV = "production";
  return {
    root: import.meta.dirname,
    plugins: [react(), tailwindcss(), leaveOutJsonSchema, namePartsOfPages],
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
                tags: ["$initial"],
                test: /node_modules\/zod\/|zod-without-eval|packages\/(?:contract\/src\/(?!views)|client\/src)/,
              },
              // Of the contract, what only other pages' calls need.
              { name: "more-wire", test: /packages\/contract\/src\/(?!views)/ },
              { name: "react", test: /node_modules\/(?:react|react-dom|scheduler)\// },
              // A request per icon costs more than all icons: what the start needs is one part; icons and components another.
              { name: "shell", tags: ["$initial"] },
              {
                name: "components",
                test: /node_modules\/(?:lucide-react|@radix-ui|@tanstack)\/|packages\/contract\/src\/views\/liveness|packages\/web\/src\/(?:ui\/(?!chart)|data\/(?:cause|sandbox-title|prices-query)|monitor\/queries)/,
              },
              // Every request waits its turn: what draws text is one part, and a run's page another.
              {
                name: "text",
                test: /node_modules\/(?:marked|anser|virtua)\/|packages\/contract\/src\/views\/(?:diff|code-tokens)\.|packages\/web\/src\/feed\/(?:markdown|code|diff-table|output|ansi|json)\./,
              },
              {
                name: "run",
                test: /packages\/contract\/src\/views\/(?:context-fill|search|compare|replay|feed)|packages\/web\/src\/(?:feed\/(?!message-list)|data\/flush|pages\/(?:run|follow-run|provisioning|fork-button|preview-button|use-moment)|data\/(?:use-run|run-store)|replay\/use-settled)/,
              },
            ],
          },
        },
      },
    },
    server: { proxy: { "/api": { target: API, ws: true } } },
  };
});
