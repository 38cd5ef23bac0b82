/** Serves the page, and hands its calls on to Drover with the credential that the page never sees. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const { DROVER_URL: target = "http://127.0.0.1:18000", DROVER_TOKEN: token = "" } = process.env;

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  server: {
    proxy: {
      "/api": { target, ws: true, changeOrigin: true, headers: { authorization: `Bearer ${token}`, origin: target } },
    },
  },
});
