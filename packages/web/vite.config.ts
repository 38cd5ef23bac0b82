/** Builds the UI into `dist`, which the server hands out from its own port. */
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const API = process.env.DROVER_URL ?? "http://127.0.0.1:18000";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
  build: { target: "es2022", sourcemap: false, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 700 },
  server: { proxy: { "/api": { target: API, ws: true } } },
});
