/** A new task of a ticket. */
import type { Task } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { Check } from "../ui/check.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Form } from "../ui/form.tsx";
import { NOTHING_WANTED, toWanted, WantedFields } from "./wanted-fields.tsx";

interface NewTaskProps {
  readonly isOpen: boolean;
  readonly ticketId: string;
  readonly tasks: readonly Task[];
  /** Its project starts tasks by itself. */
  readonly isAutonomous: boolean;
  readonly onClose: () => void;
}

export function NewTask({ isOpen, ticketId, tasks, isAutonomous, onClose }: NewTaskProps) {
  const [wanted, setWanted] = useState(NOTHING_WANTED);
  const [files, setFiles] = useState("");
  const [after, setAfter] = useState<readonly string[]>([]);
  const [isForced, setForced] = useState(false);
  const create = useMutation({
    mutationFn: () =>
      client.createTask({
        body: {
          ticket_id: ticketId,
          ...toWanted(wanted),
          owned_files: files.split(/[\s,]+/).filter(Boolean),
          dependencies: { depends_on: [...after] },
          ...(isForced ? { execution_config: { force_execute: true } } : {}),
        },
      }),
    onSuccess: () => {
      setWanted(NOTHING_WANTED);
      setFiles("");
      setAfter([]);
      setForced(false);
      onClose();
      return queryClient.invalidateQueries({ queryKey: ["work"] });
    },
  });
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New task" description="One piece of the work, done by one agent.">
      <Form verb="Create task" isReady={wanted.title.trim() !== ""} sent={create} refused="It was not created">
        <WantedFields wanted={wanted} onChange={setWanted} label="What to do" />
        <Field
          label="Files it will change"
          hint="Patterns such as src/auth/**; tasks that may touch the same files do not run at once."
          value={files}
          spellCheck={false}
          onChange={(event) => setFiles(event.target.value)}
        />
        {tasks.length > 0 && (
          <fieldset className="flex flex-col gap-1">
            <legend className="mb-1 text-sm font-medium">Waits for</legend>
            <div className="max-h-40 overflow-y-auto rounded-lg border border-line px-3 py-2" tabIndex={0}>
              {tasks.map((task) => (
                <label key={task.id} className="flex min-h-7 items-center gap-2 text-sm">
                  <input
                    type="checkbox"
                    className="accent-live-ink"
                    checked={after.includes(task.id)}
                    onChange={(event) =>
                      setAfter(event.target.checked ? [...after, task.id] : after.filter((id) => id !== task.id))
                    }
                  />
                  <span className="min-w-0 truncate">{task.title}</span>
                </label>
              ))}
            </div>
          </fieldset>
        )}
        {!isAutonomous && (
          <Check
            label="Start it, although its project starts no tasks by itself"
            isOn={isForced}
            onChange={setForced}
          />
        )}
      </Form>
    </Dialog>
  );
}
