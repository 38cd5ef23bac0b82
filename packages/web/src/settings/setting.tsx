/** One setting: its name, what it means, and the choice. */
import type { ReactNode } from "react";
import { Choice } from "../ui/field.tsx";

interface SettingProps {
  readonly name: string;
  readonly text: string;
  readonly children?: ReactNode;
}

export function Setting({ name, text, children }: SettingProps) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3">
      <div>
        <p className="text-sm font-medium">{name}</p>
        <p className="text-xs text-ink-3">{text}</p>
      </div>
      {children}
    </div>
  );
}

const SWITCH = [
  { value: "on", label: "On" },
  { value: "off", label: "Off" },
] as const;

interface OnOffProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

export const OnOff = ({ label, isOn, onChange }: OnOffProps) => (
  <Choice label={label} value={isOn ? "on" : "off"} options={SWITCH} onChange={(value) => onChange(value === "on")} />
);
