/** A key as it is drawn on a keyboard. */
import { ACTIONS, type ActionName } from "../app/actions.ts";
import { cx } from "./class-names.ts";

export const MOD = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘" : "Ctrl";

/** The keys as they are drawn, one word each. */
export const toKeycaps = (action: ActionName): readonly string[] =>
  ACTIONS[action].keys.split(/[ +](?=.)/).map((key) => (key === "Mod" ? MOD : key));

interface KbdProps {
  readonly action: ActionName;
  /** In a list of keys, which is about nothing else. */
  readonly isAlways?: boolean;
  readonly className?: string;
}

export function Kbd({ action, isAlways = false, className }: KbdProps) {
  return (
    <span className={cx("inline-flex gap-0.5", !isAlways && "max-md:hidden", className)} aria-hidden>
      {toKeycaps(action).map((key, at) => (
        <kbd
          key={`${key}${at}`}
          className="inline-grid h-4.5 min-w-4.5 place-items-center rounded border border-current/25 px-1 font-mono text-2xs leading-none opacity-80"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
