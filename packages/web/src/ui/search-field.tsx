/** A search whose text is in the address. The field itself is ahead of the address, which follows a moment later. */
import { Search } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import { useKeys } from "../app/keys.ts";
import { cx } from "./class-names.ts";
import { inputLook } from "./field.tsx";

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
  readonly note: ReactNode;
  readonly className?: string;
}

export function SearchField({ label, placeholder, value, onSearch, note, className }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  useKeys({ search: () => field.current?.focus() });
  // Someone else changed the address: a cleared filter, the back button.
  useEffect(() => {
    const input = field.current;
    if (input !== null && input !== document.activeElement) input.value = value;
  }, [value]);
  return (
    <div className={cx("relative", className)}>
      <Search size={15} className="absolute top-1/2 left-3 -translate-y-1/2 text-ink-3" aria-hidden />
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={placeholder}
        defaultValue={value}
        className={cx(inputLook, "h-9 pr-16 pl-9")}
        onChange={(event) => onSearch(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          if (event.currentTarget.value === "") event.currentTarget.blur();
          event.currentTarget.value = "";
          onSearch("");
        }}
      />
      <span className="pointer-events-none absolute top-1/2 right-3 -translate-y-1/2 text-2xs text-ink-3 tabular-nums">
        {note}
      </span>
    </div>
  );
}
