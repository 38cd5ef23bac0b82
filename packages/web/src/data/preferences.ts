/** What a person chose for this browser. `public/start.js` reads the same record before the first paint. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark";
export type Contrast = "system" | "high";
export type Density = "comfortable" | "compact";

interface Preferences {
  readonly theme: Theme;
  readonly contrast: Contrast;
  readonly density: Density;
  /** The wall has a heading for each project. */
  readonly groupsWall: boolean;
  /** The rail says what its signs mean. */
  readonly hasWideRail: boolean;
  /** Shortcuts of one key, which WCAG 2.1.4 wants to be switched off. */
  readonly hasSingleKeys: boolean;
  /** Wanted here; the browser must allow it, too. */
  readonly hasDesktopNotices: boolean;
}

export const usePreferences = create<Preferences>()(
  persist(
    (): Preferences => ({
      theme: "system",
      contrast: "system",
      density: "comfortable",
      groupsWall: false,
      hasWideRail: false,
      hasSingleKeys: true,
      hasDesktopNotices: false,
    }),
    {
      name: "drover.preferences",
    },
  ),
);

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const prefersContrast = matchMedia("(prefers-contrast: more)");

const isDark = (theme: Theme): boolean => theme === "dark" || (theme === "system" && prefersDark.matches);

interface Appearance {
  readonly isDark: boolean;
  readonly isHigh: boolean;
}

/** What came of the wishes of the person and of the system: for what is drawn by hand, and does not follow the document by itself. */
export const useAppearance = create<Appearance>()(() => ({
  isDark: isDark(usePreferences.getState().theme),
  isHigh: false,
}));

function apply({ theme, contrast, density }: Preferences): void {
  const appearance: Appearance = { isDark: isDark(theme), isHigh: contrast === "high" || prefersContrast.matches };
  document.documentElement.classList.toggle("dark", appearance.isDark);
  document.documentElement.classList.toggle("contrast", appearance.isHigh);
  document.documentElement.dataset["density"] = density;
  const shown = useAppearance.getState();
  if (shown.isDark !== appearance.isDark || shown.isHigh !== appearance.isHigh) useAppearance.setState(appearance);
}

/** Keeps the document in step with the choice and with the system. */
export function startAppearance(): void {
  apply(usePreferences.getState());
  usePreferences.subscribe(apply);
  for (const wish of [prefersDark, prefersContrast])
    wish.addEventListener("change", () => apply(usePreferences.getState()));
}

export const toggleTheme = (): Theme => {
  const theme = isDark(usePreferences.getState().theme) ? "light" : "dark";
  usePreferences.setState({ theme });
  return theme;
};
