/** Asks before something that cannot be undone. */
import { AlertDialog } from "radix-ui";
import { Button } from "./button.tsx";
import { useFocusReturn } from "./use-focus-return.ts";

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly title: string;
  readonly text: string;
  readonly verb: string;
}

export function Confirm({ isOpen, onClose, onConfirm, title, text, verb }: ConfirmProps) {
  const focusReturn = useFocusReturn();
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(next) => !next && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="fixed inset-0 z-40 bg-[oklch(0.15_0.02_160/0.45)] backdrop-blur-[2px]" />
        <AlertDialog.Content
          {...focusReturn}
          className="fixed top-1/2 left-1/2 z-50 w-[min(440px,92vw)] -translate-x-1/2 -translate-y-1/2 animate-enter rounded-2xl border border-line bg-raised p-5 shadow-lift focus:outline-none"
        >
          <AlertDialog.Title className="text-lg font-semibold tracking-tight">{title}</AlertDialog.Title>
          <AlertDialog.Description className="mt-1.5 text-sm text-ink-2">{text}</AlertDialog.Description>
          <div className="mt-5 flex justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button look="plain">Cancel</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look="danger" onClick={onConfirm}>
                {verb}
              </Button>
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
