/** All keys, from the table that also drives them. */
import { ACTIONS, type ActionName } from "./actions.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Kbd, toKeycaps } from "../ui/kbd.tsx";

const NAMES = Object.keys(ACTIONS) as ActionName[];
const SCOPES = Map.groupBy(NAMES, (name) => ACTIONS[name].scope);

export function HelpSheet({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Keyboard" isText>
      {[...SCOPES].map(([scope, names]) => (
        <section key={scope} className="mb-4 last:mb-0">
          <h3 className="mb-1 text-xs font-semibold text-ink-3">{scope}</h3>
          <dl className="divide-y divide-line">
            {names.map((name) => (
              <div key={name} className="flex items-center justify-between gap-4 py-1.5">
                <dt className="text-sm">{ACTIONS[name].label}</dt>
                <dd>
                  <span className="sr-only">{toKeycaps(name).join(" ")}</span>
                  <Kbd action={name} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
