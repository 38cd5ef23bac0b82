/** The changes of a file with their whole patches, read where the events carried only a beginning. */
import { listFileSteps, type FeedView, type FileStep } from "@drover/contract/views";
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { fileDiffQuery } from "../data/queries.ts";
import { useSettled } from "../replay/use-settled.ts";

/** Of a run that works rows come by the hundred; who wrote a line can wait. */
const EVERY_MS = 500;

export function useWholeSteps(sandboxId: string, all: FeedView["rows"], name: string | undefined) {
  const rows = useSettled(all, EVERY_MS);
  const steps = useMemo(() => (name === undefined ? [] : listFileSteps(rows, name)), [rows, name]);
  const cut = useMemo(() => steps.filter(({ edit }) => !edit.isComplete), [steps]);
  const whole = useQueries({
    queries: cut.map(({ edit }) => fileDiffQuery(sandboxId, edit.eventId)),
    combine: (reads) => reads.map((read) => read.data?.diff),
  });
  return useMemo(() => {
    const patches = new Map(cut.map(({ edit }, at) => [edit.eventId, whole[at]]));
    return steps.map((step): FileStep => {
      const patch = patches.get(step.edit.eventId);
      return typeof patch === "string" ? { ...step, edit: { ...step.edit, patch, isComplete: true } } : step;
    });
  }, [steps, cut, whole]);
}
