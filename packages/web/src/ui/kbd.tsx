/** A key as it is drawn on a keyboard. */
import { ACTIONS, type ActionName } from "../app/actions.ts";
import { cx } from "./class-names.ts";

export function Kbd({ action, className }: { readonly action: ActionName; readonly className?: string }) {
  return (
    <span className={cx("inline-flex gap-0.5 max-md:hidden", className)} aria-hidden>
      {ACTIONS[action].keys.split(" ").map((key, at) => (
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
