/** Short notices in a corner; loaded after the page, since none is shown before. */
import { Toaster } from "sonner";

const LOOK = {
  background: "var(--raised)",
  color: "var(--ink)",
  borderColor: "var(--line)",
  fontFamily: "var(--font-sans)",
};

export function Toasts({ isDark }: { readonly isDark: boolean }) {
  return <Toaster position="bottom-right" theme={isDark ? "dark" : "light"} toastOptions={{ style: LOOK }} />;
}
