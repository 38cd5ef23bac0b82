/** The mark: a trail that turns, and those who follow it. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden>
      <rect width="32" height="32" rx="8" className="fill-solid" />
      <path
        d="M7 22.5c6.2 0 6.4-13 12.2-13 3.3 0 5.8 2.6 5.8 6.5s-2.5 6.5-5.8 6.5"
        fill="none"
        stroke="oklch(0.78 0.145 163)"
        className="dark:stroke-[oklch(0.5_0.12_163)]"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
      <circle cx="13.6" cy="22.5" r="1.9" className="fill-on-solid" />
      <circle cx="7.6" cy="12.6" r="1.9" className="fill-on-solid" fillOpacity=".55" />
    </svg>
  );
}
