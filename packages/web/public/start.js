// Runs before anything else: gives every style element the page's nonce, sets theme, contrast and density, and asks for what the address names while the rest of the page is loaded.
(function () {
  // The terminal, the dialogs and the notices bring style elements of their own, and not all let themselves be told a nonce.
  const { nonce } = document.querySelector('meta[property="csp-nonce"]');
  const createElement = document.createElement;
  document.createElement = function (...asked) {
    const element = createElement.apply(this, asked);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };

  let chosen = {};
  try {
    chosen = JSON.parse(localStorage.getItem("drover.preferences") || "{}").state || {};
  } catch {
    // Storage may be closed or hold something else: the defaults are good.
  }
  const isDark =
    chosen.theme === "dark" || (chosen.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const root = document.documentElement;
  root.classList.toggle("dark", isDark);
  root.classList.toggle("contrast", chosen.contrast === "high" || matchMedia("(prefers-contrast: more)").matches);
  root.dataset.density = chosen.density === "compact" ? "compact" : "comfortable";

  // Asked once and here; `src/data/early-replies.ts` hands them out.
  const run = /^\/sandboxes\/(?!new$)[^/]+$/.exec(location.pathname)?.[0];
  const replies = {};
  const ask = (path) => {
    const address = `/api/v1${path}`;
    replies[address] = fetch(address, { headers: { accept: "application/json" }, credentials: "same-origin" });
    // Whoever takes it hears of a failure; nobody may.
    replies[address].catch(() => {});
  };
  if (run !== undefined) {
    ask("/auth/whoami");
    ask(run);
    ask(`${run}/events?order=desc&limit=80`);
  }
  window.droverEarly = { replies, at: performance.now() };

  // Parts of the page that its entry does not name: the build writes them beside this script's address.
  const parts = run === undefined ? (location.pathname === "/" ? "wall" : "") : "run";
  for (const href of (document.currentScript.dataset[parts] || "").split(" ").filter(Boolean)) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.crossOrigin = "";
    link.href = href;
    document.head.append(link);
  }
})();
