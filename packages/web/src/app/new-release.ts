/** After a new release the parts of the old page are gone: then, and only then, the page is loaded anew. */
const RELOADED = "drover.reloaded";

/** While the server is away its parts cannot be had either, but the page that is open is worth more than none. */
async function reloadIfReplaced(script: string): Promise<void> {
  if (sessionStorage.getItem(RELOADED) === location.href) return;
  const reply = await fetch("/", { cache: "no-store" });
  if (!reply.ok || (await reply.text()).includes(script)) return;
  sessionStorage.setItem(RELOADED, location.href);
  location.reload();
}

/** `script` is the path of the page's first script; every release has another. */
export function startReleaseWatch(script: string): void {
  window.addEventListener("vite:preloadError", () => {
    // Expected: the server is away.
    void reloadIfReplaced(script).catch(() => undefined);
  });
}
