/** Copies a text and says so. */
import { Check, Copy as CopyIcon } from "lucide-react";
import { useState } from "react";
import { Button } from "./button.tsx";
import { notify } from "./notify.ts";

const SAID_FOR_MS = 1_600;

/** The clipboard exists on secure origins only; elsewhere a selection does the same. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  return isDone;
}

export function CopyButton({
  text,
  label = "Copy",
  name,
}: {
  readonly text: string;
  readonly label?: string;
  readonly name?: string;
}) {
  const [isSaid, setSaid] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) return notify.bad("The browser did not allow copying.");
    setSaid(true);
    setTimeout(() => setSaid(false), SAID_FOR_MS);
  };
  return (
    <Button size="small" onClick={() => void copy()} aria-label={name === undefined ? undefined : `${label} ${name}`}>
      {isSaid ? <Check size={13} className="text-live" /> : <CopyIcon size={13} />}
      {isSaid ? "Copied" : label}
    </Button>
  );
}
