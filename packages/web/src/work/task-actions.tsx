/** What a person may do with a task: begin it again, or cancel it after a question. */
import { ENDED_TASK_STATES, type Task } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { Ban, RotateCw } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";
import { CancelTask } from "./cancel-task.tsx";

export function TaskActions({ task }: { readonly task: Task }) {
  const [isAsking, setAsking] = useState(false);
  const read = () => queryClient.invalidateQueries({ queryKey: ["work"] });
  const cancel = useMutation({
    mutationFn: () => client.cancelTask({ params: { task_id: task.id } }),
    onSuccess: read,
    onError: (error) => notify.bad(`Not cancelled: ${error.message}`),
  });
  const retry = useMutation({
    mutationFn: () => client.retryTask({ params: { task_id: task.id } }),
    onSuccess: read,
    onError: (error) => notify.bad(`Not retried: ${error.message}`),
  });
  const isOver = ENDED_TASK_STATES.has(task.status);
  return (
    <>
      {(task.status === "failed" || task.status === "cancelled") && (
        <Button size="small" className="max-md:h-11" disabled={retry.isPending} onClick={() => retry.mutate()}>
          <RotateCw size={13} /> Retry
        </Button>
      )}
      {!isOver && (
        <Button size="small" className="max-md:h-11" disabled={cancel.isPending} onClick={() => setAsking(true)}>
          <Ban size={13} /> Cancel
        </Button>
      )}
      <CancelTask task={task} isOpen={isAsking} onClose={() => setAsking(false)} onConfirm={() => cancel.mutate()} />
    </>
  );
}
