/** A new ticket. */
import { TICKET_PRIORITIES, type TicketPriority } from "@drover/contract/views";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Choice } from "../ui/field.tsx";
import { Form } from "../ui/form.tsx";
import { Select } from "../ui/select.tsx";
import { NOTHING_WANTED, toWanted, WantedFields } from "./wanted-fields.tsx";

const PRIORITIES = TICKET_PRIORITIES.map((value) => ({ value, label: value.toLowerCase() }));
const TYPES = ["feature", "fix", "hotfix", "refactor", "docs", "test", "chore"].map((value) => ({
  value,
  label: value,
}));

interface NewTicketProps {
  readonly isOpen: boolean;
  readonly projectId: string | undefined;
  readonly onClose: () => void;
}

export function NewTicket({ isOpen, projectId, onClose }: NewTicketProps) {
  const navigate = useNavigate();
  const [wanted, setWanted] = useState(NOTHING_WANTED);
  const [type, setType] = useState("feature");
  const [priority, setPriority] = useState<TicketPriority>("MEDIUM");
  const create = useMutation({
    mutationFn: () =>
      client.createTicket({
        body: {
          ...toWanted(wanted),
          ...(projectId === undefined ? {} : { project_id: projectId }),
          ticket_type: type,
          priority,
        },
      }),
    onSuccess: (ticket) => {
      setWanted(NOTHING_WANTED);
      onClose();
      void queryClient.invalidateQueries({ queryKey: ["work"] });
      return navigate({ to: "/tasks/tickets/$ticketId", params: { ticketId: ticket.id } });
    },
  });
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New ticket" description="What you want; its tasks say how.">
      <Form verb="Create ticket" isReady={wanted.title.trim() !== ""} sent={create} refused="It was not created">
        <WantedFields wanted={wanted} onChange={setWanted} label="Description" />
        <div className="flex flex-wrap items-end gap-4">
          <Select label="Kind" options={TYPES} value={type} onChange={(event) => setType(event.target.value)} />
          <Choice label="Priority" value={priority} options={PRIORITIES} onChange={setPriority} />
        </div>
      </Form>
    </Dialog>
  );
}
