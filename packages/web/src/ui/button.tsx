/** The buttons of the product. */
import type { ComponentProps } from "react";
import { cx } from "./class-names.ts";

const LOOKS = {
  solid: "bg-solid text-on-solid hover:opacity-90 shadow-card",
  live: "bg-live-ink text-paper hover:opacity-90 shadow-card",
  plain: "bg-raised text-ink border border-line-strong hover:bg-hover",
  ghost: "text-ink-2 hover:bg-hover hover:text-ink",
  /** Leads to what cannot be undone, and asks first. */
  final: "bg-raised text-fail-ink border border-line-strong hover:bg-fail-soft hover:border-fail/50",
  danger: "bg-fail-ink text-paper hover:opacity-90",
} as const;

const SIZES = {
  small: "h-7 gap-1.5 rounded-md px-2.5 text-xs",
  medium: "h-9 gap-2 rounded-lg px-3.5 text-sm",
  large: "h-12 gap-2.5 rounded-xl px-5 text-base",
  icon: "size-8 rounded-lg",
} as const;

interface ButtonProps extends ComponentProps<"button"> {
  readonly look?: keyof typeof LOOKS;
  readonly size?: keyof typeof SIZES;
}

export function Button({ look = "plain", size = "medium", className, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={cx(
        "inline-flex shrink-0 items-center justify-center font-medium whitespace-nowrap transition-[background,opacity,transform] duration-100 select-none active:translate-y-px disabled:cursor-not-allowed disabled:opacity-50",
        LOOKS[look],
        SIZES[size],
        className,
      )}
      {...rest}
    />
  );
}
