/** Moments at which a browser's connection is worth trying again at once. Does nothing where there is no window. */

export function listenForWake(wake: () => unknown): () => void {
  if (typeof window === "undefined" || typeof document === "undefined") return () => {};
  const onVisible = () => {
    if (document.visibilityState === "visible") wake();
  };
  window.addEventListener("online", wake);
  window.addEventListener("pageshow", wake);
  document.addEventListener("visibilitychange", onVisible);
  return () => {
    window.removeEventListener("online", wake);
    window.removeEventListener("pageshow", wake);
    document.removeEventListener("visibilitychange", onVisible);
  };
}

/** Node's `navigator` knows nothing of the network: only a clear no counts. */
export const isOffline = (): boolean => typeof navigator !== "undefined" && navigator.onLine === false;
