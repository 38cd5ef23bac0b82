/** A box that is ticked or not, with its words. */
interface CheckProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

export const Check = ({ label, isOn, onChange }: CheckProps) => (
  <label className="flex min-h-8 items-center gap-2.5 text-sm">
    <input
      type="checkbox"
      className="size-4 accent-live-ink"
      checked={isOn}
      onChange={(event) => onChange(event.target.checked)}
    />
    {label}
  </label>
);
