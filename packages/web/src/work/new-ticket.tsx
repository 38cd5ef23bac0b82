/** A new ticket, and a new task of one. */
import type { Task } from "@drover/contract";
import { TICKET_PRIORITIES, type TicketPriority } from "@drover/contract/views";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Choice, Field } from "../ui/field.tsx";
import { Form } from "../ui/form.tsx";
import { Select, TextArea } from "../ui/select.tsx";

const PRIORITIES = TICKET_PRIORITIES.map((value) => ({ value, label: value.toLowerCase() }));
const TYPES = ["feature", "fix", "hotfix", "refactor", "docs", "test", "chore"].map((value) => ({
  value,
  label: value,
}));

const readWork = () => queryClient.invalidateQueries({ queryKey: ["work"] });

interface NewTicketProps {
  readonly isOpen: boolean;
  readonly projectId: string | undefined;
  readonly onClose: () => void;
}

export function NewTicket({ isOpen, projectId, onClose }: NewTicketProps) {
  const navigate = useNavigate();
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [type, setType] = useState("feature");
  const [priority, setPriority] = useState<TicketPriority>("MEDIUM");
  const create = useMutation({
    mutationFn: () =>
      client.createTicket({
        body: {
          title: title.trim(),
          ...(description.trim() === "" ? {} : { description: description.trim() }),
          ...(projectId === undefined ? {} : { project_id: projectId }),
          ticket_type: type,
          priority,
        },
      }),
    onSuccess: (ticket) => {
      setTitle("");
      setDescription("");
      onClose();
      void readWork();
      return navigate({ to: "/work/tickets/$ticketId", params: { ticketId: ticket.id } });
    },
  });
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New ticket" description="What you want; its tasks say how.">
      <Form verb="Create ticket" isReady={title.trim() !== ""} sent={create} refused="It was not created">
        <Field
          label="Title"
          data-focus-first
          value={title}
          maxLength={500}
          onChange={(event) => setTitle(event.target.value)}
        />
        <TextArea
          label="Description"
          rows={5}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
        <div className="flex flex-wrap items-end gap-4">
          <Select label="Kind" options={TYPES} value={type} onChange={(event) => setType(event.target.value)} />
          <Choice label="Priority" value={priority} options={PRIORITIES} onChange={setPriority} />
        </div>
      </Form>
    </Dialog>
  );
}

interface NewTaskProps {
  readonly isOpen: boolean;
  readonly ticketId: string;
  readonly tasks: readonly Task[];
  readonly onClose: () => void;
}

export function NewTask({ isOpen, ticketId, tasks, onClose }: NewTaskProps) {
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [files, setFiles] = useState("");
  const [after, setAfter] = useState<readonly string[]>([]);
  const create = useMutation({
    mutationFn: () =>
      client.createTask({
        body: {
          ticket_id: ticketId,
          title: title.trim(),
          ...(description.trim() === "" ? {} : { description: description.trim() }),
          owned_files: files.split(/[\s,]+/).filter(Boolean),
          dependencies: { depends_on: [...after] },
        },
      }),
    onSuccess: () => {
      setTitle("");
      setDescription("");
      setFiles("");
      setAfter([]);
      onClose();
      return readWork();
    },
  });
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New task" description="One piece of the work, done by one agent.">
      <Form verb="Create task" isReady={title.trim() !== ""} sent={create} refused="It was not created">
        <Field
          label="Title"
          data-focus-first
          value={title}
          maxLength={500}
          onChange={(event) => setTitle(event.target.value)}
        />
        <TextArea
          label="What to do"
          rows={4}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
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
      </Form>
    </Dialog>
  );
}
