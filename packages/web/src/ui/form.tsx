/** A form in a dialog: fields, why it was refused, and one button that waits until everything is there. */
import type { FormEvent, ReactNode } from "react";
import { Button } from "./button.tsx";
import { Problem } from "./problem.tsx";

interface FormProps {
  readonly verb: string;
  readonly isReady: boolean;
  readonly sent: { readonly isPending: boolean; readonly error: unknown; readonly mutate: () => void };
  /** What to say when it was refused. */
  readonly refused: string;
  readonly children: ReactNode;
}

export function Form({ verb, isReady, sent, refused, children }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) sent.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {children}
      {sent.error !== null && <Problem error={sent.error} what={refused} />}
      <Button type="submit" look="solid" className="self-end" disabled={!isReady || sent.isPending}>
        {verb}
      </Button>
    </form>
  );
}
