/** Builds the page of a file that carries a run: one document with all it needs, which asks nobody for anything. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const SOURCES = join(import.meta.dirname, "src");
export const RUN_FILE = "run-file.html";

/** The type's own files are larger than everything else: the reader's machine has others. */
const leaveOutFonts: Plugin = {
  name: "leave-out-fonts",
  enforce: "pre",
  transform: {
    filter: { id: /\/src\/styles\.css$/ },
    handler: (code) => ({ code: code.replace(/@import "@fontsource[^;]*;/g, ""), map: null }),
  },
};

/** A script that stands in a document must not end it. In strings, where these can stand, the backslash means nothing. */
const toInline = (code: string) => code.replaceAll(/<(?=\/script|script|!--)/gi, "\\x3c");

const toHash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const toPage = (script: string, style: string) => {
  const policy = [
    "default-src 'none'",
    `script-src ${toHash(script)}`,
    `style-src ${toHash(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Drover</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>A run that was taken along as a file needs JavaScript to be shown.</noscript>
<script type="application/json" id="run"></script>
<script type="module">${script}</script>
</body>
</html>
`;
};

/** One document in place of script and style. */
const inOneFile: Plugin = {
  name: "in-one-file",
  enforce: "post",
  generateBundle(_, bundle) {
    const files = Object.values(bundle);
    const [script, ...more] = files.filter((file) => file.type === "chunk");
    if (script === undefined || more.length > 0) throw new Error("the page of a file is more than one script");
    const style = files.find((file) => file.type === "asset" && file.fileName.endsWith(".css"));
    for (const name of Object.keys(bundle)) delete bundle[name];
    const css = style?.type === "asset" ? String(style.source) : "";
    this.emitFile({ type: "asset", fileName: RUN_FILE, source: toPage(toInline(script.code), css) });
  },
};

export default defineConfig(() => {
  process.env.NODE_ENV = "production";
  return {
    root: import.meta.dirname,
    publicDir: false as const,
    plugins: [leaveOutFonts, react(), tailwindcss(), inOneFile],
    resolve: {
      alias: [{ find: /^.*\/data\/client\.ts$/, replacement: join(SOURCES, "run-file/no-client.ts") }],
    },
    build: {
      target: "es2022",
      modulePreload: { polyfill: false },
      cssCodeSplit: false,
      assetsInlineLimit: Number.POSITIVE_INFINITY,
      rolldownOptions: {
        input: join(SOURCES, "run-file/main.tsx"),
        output: { codeSplitting: false },
      },
    },
  };
});
