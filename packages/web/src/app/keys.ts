/** Listens to the keyboard once and calls whoever handles the action at the moment; the newest handler wins. */
import { useEffect, useRef } from "react";
import { createKeybindingsHandler } from "tinykeys";
import { usePreferences } from "../data/preferences.ts";
import { ACTIONS, type ActionName } from "./actions.ts";

/** Whoever returns false leaves the key to the browser. */
type Handler = (event: KeyboardEvent) => unknown;
const handlers = new Map<ActionName, Handler[]>();

const toBinding = (keys: string): string =>
  keys
    .split(" ")
    .map((key) => {
      if (key === "Esc") return "Escape";
      if (key === "←" || key === "→") return key === "←" ? "ArrowLeft" : "ArrowRight";
      if (key.startsWith("Shift+")) return `Shift+${toBinding(key.slice("Shift+".length))}`;
      if (key.startsWith("Mod+")) return key.replace("Mod", "$mod");
      if (/^[A-Z]$/.test(key)) return `Shift+${key}`;
      // Punctuation lies behind Shift on some keyboards and not on others.
      return /^[a-z]$/.test(key) ? key : `[Shift]+${key}`;
    })
    .join(" ");

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest(
    "input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea, select, [contenteditable=true]",
  ) !== null;

const isBehindDialog = (): boolean =>
  document.querySelector("[role=dialog]:not([popover]), [role=alertdialog]") !== null;

function call(name: ActionName, event: KeyboardEvent): boolean {
  const handler = handlers.get(name)?.at(-1);
  if (handler === undefined) return false;
  if (handler(event) !== false) event.preventDefault();
  return true;
}

const isGeneral = (name: ActionName): number => Number(ACTIONS[name].scope === "Everywhere");

/** One binding per key; scopes may share a key: the page that is open handles it, before what holds everywhere. */
export function startKeys(): () => void {
  const bindings: Record<string, (event: KeyboardEvent) => void> = {};
  const names = (Object.keys(ACTIONS) as ActionName[]).toSorted((one, other) => isGeneral(one) - isGeneral(other));
  // The library stops at the first that matches: who ends `g m` does not mean `m`, so longer ones come first.
  const byLength = [...Map.groupBy(names, (name) => ACTIONS[name].keys as string)].toSorted(
    ([one], [other]) => other.split(" ").length - one.split(" ").length,
  );
  for (const [keys, sharing] of byLength) {
    if (keys === "") continue;
    bindings[toBinding(keys)] = (event) => {
      // A key with a modifier writes nothing, so it also works in a field.
      const isSafe = keys === "Esc" || keys.startsWith("Mod+");
      const isQuiet =
        (!isSafe && (isTyping(event.target) || !usePreferences.getState().hasSingleKeys)) ||
        (keys !== "Esc" && isBehindDialog());
      if (!isQuiet) sharing.some((name) => call(name, event));
    };
  }
  // The library is deaf in every field: a checkbox takes no letters, and a key with a modifier writes none.
  const ignore = (event: KeyboardEvent) =>
    event.repeat || event.isComposing || (isTyping(event.target) && !event.ctrlKey && !event.metaKey);
  const listen = createKeybindingsHandler(bindings, { ignore });
  window.addEventListener("keydown", listen);
  return () => window.removeEventListener("keydown", listen);
}

/** What can be done on the page as it is. */
export const listHandled = (): readonly ActionName[] =>
  [...handlers].filter(([, own]) => own.length > 0).map(([name]) => name);

/** As its key would, pressed where the focus is. */
export function runAction(name: ActionName): void {
  const event = new KeyboardEvent("keydown");
  Object.defineProperty(event, "target", { value: document.activeElement });
  call(name, event);
}

/** Handles actions while the component is shown. */
export function useKeys(given: Partial<Record<ActionName, Handler>>): void {
  const latest = useRef(given);
  useEffect(() => {
    latest.current = given;
  });
  const names = Object.keys(given).join(" ");
  useEffect(() => {
    const own = names.split(" ").filter(Boolean) as ActionName[];
    const added = own.map((name) => [name, (event: KeyboardEvent) => latest.current[name]?.(event)] as const);
    for (const [name, handler] of added) handlers.set(name, [...(handlers.get(name) ?? []), handler]);
    return () => {
      for (const [name, handler] of added)
        handlers.set(
          name,
          (handlers.get(name) ?? []).filter((one) => one !== handler),
        );
    };
  }, [names]);
}
