/** A label for what has only an icon, with the key that does the same. */
import { Tooltip as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Kbd } from "./kbd.tsx";
import type { ActionName } from "../app/actions.ts";

interface TooltipProps {
  readonly label: ReactNode;
  readonly action?: ActionName;
  readonly side?: "top" | "right" | "bottom" | "left";
  readonly children: ReactNode;
}

export function Tooltip({ label, action, side = "bottom", children }: TooltipProps) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 flex animate-enter items-center gap-2 rounded-md bg-solid px-2 py-1 text-xs font-medium text-on-solid shadow-lift"
        >
          {label}
          {action !== undefined && <Kbd action={action} />}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
