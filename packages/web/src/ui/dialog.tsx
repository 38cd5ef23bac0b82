/** A dialog: centred on wide screens, a sheet from below on a phone. */
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { cx } from "./class-names.ts";
import { useFocusReturn } from "./use-focus-return.ts";

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly isWide?: boolean;
  /** Nothing in it takes the focus, so that it must itself to be scrolled by keyboard. */
  readonly isText?: boolean;
  readonly children: ReactNode;
}

export function Dialog({ isOpen, onClose, title, description, isWide = false, isText = false, children }: DialogProps) {
  const focusReturn = useFocusReturn();
  return (
    <Radix.Root open={isOpen} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0.15_0.02_160/0.45)] backdrop-blur-[2px]" />
        <Radix.Content
          {...focusReturn}
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
          className={cx(
            "fixed inset-x-0 bottom-0 z-50 flex max-h-[92dvh] animate-enter flex-col rounded-t-2xl border border-line bg-raised shadow-lift focus:outline-none",
            "md:inset-auto md:top-1/2 md:left-1/2 md:-translate-x-1/2 md:-translate-y-1/2 md:rounded-2xl",
            isWide ? "md:h-[86dvh] md:w-[min(1100px,92vw)]" : "md:w-[min(520px,92vw)]",
          )}
        >
          <header className="flex items-start gap-4 px-5 pt-5 pb-3">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-lg font-semibold tracking-tight break-words">{title}</Radix.Title>
              {description !== undefined && (
                <Radix.Description className="mt-1 text-sm text-ink-2">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close
              className="-mt-1 -mr-1 grid size-8 shrink-0 place-items-center rounded-lg text-ink-3 hover:bg-hover hover:text-ink"
              aria-label="Close"
            >
              <X size={17} />
            </Radix.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 pb-5" {...(isText ? { tabIndex: 0 } : {})}>
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
