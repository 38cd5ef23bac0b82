/** A short notice in a corner. The library comes with the first one. */
export const notify = {
  good: (text: string): void => void import("sonner").then(({ toast }) => toast.success(text)),
  bad: (text: string): void => void import("sonner").then(({ toast }) => toast.error(text)),
};
