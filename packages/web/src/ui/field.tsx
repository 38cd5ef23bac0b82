/** Form fields with a label, a hint and a complaint. */
import { useId, type ComponentProps, type ReactNode } from "react";
import { cx } from "./class-names.ts";

export const inputLook =
  "w-full rounded-lg border border-line-strong bg-surface px-3 text-sm text-ink placeholder:text-ink-3 focus-visible:border-live focus-visible:outline-offset-0";

interface FieldProps extends Omit<ComponentProps<"input">, "children"> {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly complaint?: string | undefined;
}

export function Field({ label, hint, complaint, className, ...rest }: FieldProps) {
  const id = useId();
  return (
    <div className={cx("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <input
        id={id}
        className={cx(inputLook, "h-10")}
        aria-invalid={complaint !== undefined}
        aria-describedby={hint === undefined && complaint === undefined ? undefined : `${id}-note`}
        {...rest}
      />
      {(complaint ?? hint) !== undefined && (
        <p id={`${id}-note`} className={cx("text-xs", complaint === undefined ? "text-ink-3" : "text-fail-ink")}>
          {complaint ?? hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly onChange: (value: T) => void;
}

/** A few alternatives side by side; a group of radio buttons to assistive technology. */
export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset className="flex min-w-0">
      <legend className="sr-only">{label}</legend>
      <div className="inline-flex rounded-lg border border-line bg-sunken p-0.5">
        {options.map((option) => (
          <label
            key={option.value}
            className="relative flex h-7 cursor-pointer items-center rounded-md px-3 text-xs font-medium whitespace-nowrap text-ink-2 has-checked:bg-raised has-checked:text-ink has-checked:shadow-card max-[24rem]:px-2 has-focus-visible:outline-2 has-focus-visible:outline-live"
          >
            <input
              type="radio"
              name={name}
              className="absolute inset-0 cursor-pointer opacity-0"
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
