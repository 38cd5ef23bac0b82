/** How large the sandbox is, by a few sizes; the figures below stay free. */
import { Choice } from "../ui/field.tsx";
import type { Draft } from "./draft.ts";

type Size = Pick<Draft, "memory" | "cpu" | "disk">;

const SIZES: Readonly<Record<string, Size>> = {
  configured: { memory: "", cpu: "", disk: "" },
  small: { memory: "2", cpu: "1", disk: "4" },
  medium: { memory: "4", cpu: "2", disk: "8" },
  large: { memory: "8", cpu: "4", disk: "10" },
};
const OPTIONS = [
  { value: "configured", label: "As configured" },
  { value: "small", label: "2 GiB" },
  { value: "medium", label: "4 GiB" },
  { value: "large", label: "8 GiB" },
];
const OWN = { value: "own", label: "Own" };

interface SizeChoiceProps {
  readonly draft: Draft;
  readonly onPick: (size: Size) => void;
}

export function SizeChoice({ draft, onPick }: SizeChoiceProps) {
  const chosen = Object.entries(SIZES).find(
    ([, size]) => size.memory === draft.memory && size.cpu === draft.cpu && size.disk === draft.disk,
  )?.[0];
  return (
    <div className="flex flex-wrap items-center gap-3 sm:col-span-2 lg:col-span-3">
      <span className="text-sm font-medium">Size</span>
      <Choice
        label="Size"
        value={chosen ?? OWN.value}
        options={chosen === undefined ? [...OPTIONS, OWN] : OPTIONS}
        onChange={(name) => {
          const size = SIZES[name];
          if (size !== undefined) onPick(size);
        }}
      />
    </div>
  );
}
