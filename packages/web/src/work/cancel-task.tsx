/** Asks before a task is cancelled. */
import { ACTIVE_TASK_STATES, type Task } from "@drover/contract";
import { Confirm } from "../ui/confirm.tsx";

interface CancelTaskProps {
  readonly task: Task;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

export const CancelTask = ({ task, isOpen, onClose, onConfirm }: CancelTaskProps) => (
  <Confirm
    isOpen={isOpen}
    onClose={onClose}
    onConfirm={onConfirm}
    title="Cancel this task?"
    text={
      ACTIVE_TASK_STATES.has(task.status)
        ? "Its sandbox is stopped. Tasks that wait for it will not run."
        : "Tasks that wait for it will not run."
    }
    verb="Cancel task"
  />
);
