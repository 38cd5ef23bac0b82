/** The box that selects a listed sandbox; with Shift, all from the one before. */
import type { Sandbox } from "@drover/contract";
import { toTitle } from "../data/sandbox-title.ts";
import { cx } from "../ui/class-names.ts";

interface PickBoxProps {
  readonly sandbox: Sandbox;
  readonly isPicked: boolean;
  readonly onPick: (id: string, isRange: boolean) => void;
  readonly className?: string;
}

export const PickBox = ({ sandbox, isPicked, onPick, className }: PickBoxProps) => (
  <label className={cx("relative z-10 grid shrink-0 cursor-pointer place-items-center", className)}>
    <input
      type="checkbox"
      className="size-4 accent-live-ink"
      aria-label={`Select ${toTitle(sandbox)}`}
      checked={isPicked}
      onChange={({ nativeEvent }) => onPick(sandbox.id, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)}
    />
  </label>
);
