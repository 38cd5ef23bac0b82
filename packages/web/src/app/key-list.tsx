/** All keys by where they hold, from the table that also drives them. */
import { Kbd, toKeycaps } from "../ui/kbd.tsx";
import { ACTIONS, type ActionName } from "./actions.ts";

const NAMES = Object.keys(ACTIONS) as ActionName[];
const SCOPES = Map.groupBy(
  NAMES.filter((name) => ACTIONS[name].keys !== ""),
  (name) => ACTIONS[name].scope,
);

export const KeyList = () =>
  [...SCOPES].map(([scope, names]) => (
    <section key={scope} className="mb-4 break-inside-avoid last:mb-0">
      <h3 className="mb-1 text-xs font-semibold text-ink-3">{scope}</h3>
      <dl className="divide-y divide-line">
        {names.map((name) => (
          <div key={name} className="flex items-center justify-between gap-4 py-1.5">
            <dt className="text-sm">{ACTIONS[name].label}</dt>
            <dd>
              <span className="sr-only">{toKeycaps(name).join(" ")}</span>
              <Kbd action={name} isAlways />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  ));
