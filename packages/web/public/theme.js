// Sets theme and density before the first paint; the application takes over from there.
(function () {
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
  root.dataset.density = chosen.density === "compact" ? "compact" : "comfortable";
})();
