/** A choice from a list, and a larger text, with a label, a hint and a complaint. */
import { useId, type ComponentProps, type ReactNode } from "react";
import { cx } from "./class-names.ts";
import { inputLook } from "./field.tsx";

interface Labelled {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly complaint?: string | undefined;
}

function Frame({
  id,
  label,
  hint,
  complaint,
  className,
  children,
}: Labelled & { id: string; className?: string | undefined; children: ReactNode }) {
  return (
    <div className={cx("flex min-w-0 flex-col gap-1.5", className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      {(complaint ?? hint) !== undefined && (
        <p
          id={`${id}-note`}
          className={cx("text-xs break-words", complaint === undefined ? "text-ink-3" : "text-fail-ink")}
        >
          {complaint ?? hint}
        </p>
      )}
    </div>
  );
}

const describe = (id: string, { hint, complaint }: Labelled) => ({
  "aria-invalid": complaint !== undefined,
  "aria-describedby": hint === undefined && complaint === undefined ? undefined : `${id}-note`,
});

interface SelectProps extends Omit<ComponentProps<"select">, "children">, Labelled {
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

export function Select({ label, hint, complaint, options, className, ...rest }: SelectProps) {
  const id = useId();
  const labelled = { label, ...(hint === undefined ? {} : { hint }), complaint };
  return (
    <Frame id={id} {...labelled} className={className}>
      <select id={id} className={cx(inputLook, "h-10")} {...describe(id, labelled)} {...rest}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

interface TextAreaProps extends ComponentProps<"textarea">, Labelled {}

export function TextArea({ label, hint, complaint, className, ...rest }: TextAreaProps) {
  const id = useId();
  const labelled = { label, ...(hint === undefined ? {} : { hint }), complaint };
  return (
    <Frame id={id} {...labelled} className={className}>
      <textarea
        id={id}
        className={cx(inputLook, "resize-y py-2 leading-relaxed")}
        {...describe(id, labelled)}
        {...rest}
      />
    </Frame>
  );
}
