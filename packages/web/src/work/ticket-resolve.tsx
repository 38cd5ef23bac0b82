/** A person says that a ticket is done, and why. */
import type { Ticket } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { CheckCheck } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Form } from "../ui/form.tsx";
import { TextArea } from "../ui/select.tsx";

export function ResolveTicket({ ticket }: { readonly ticket: Ticket }) {
  const [isAsking, setAsking] = useState(false);
  const [why, setWhy] = useState("");
  const resolve = useMutation({
    mutationFn: () =>
      client.resolveTicket({ params: { ticket_id: ticket.id }, body: { resolution_comment: why.trim() } }),
    onSuccess: () => {
      setAsking(false);
      return queryClient.invalidateQueries({ queryKey: ["work"] });
    },
  });
  if (ticket.status === "done" || ticket.approval_status !== "approved") return null;
  return (
    <>
      <Button size="small" className="max-md:h-9" onClick={() => setAsking(true)}>
        <CheckCheck size={14} aria-hidden /> Resolve
      </Button>
      <Dialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Resolve this ticket"
        description="It is done, whatever its tasks say. Those that have not begun are cancelled; tickets that wait for it go on."
      >
        <Form verb="Resolve" isReady={why.trim() !== ""} sent={resolve} refused="It was not resolved">
          <TextArea
            label="Why it is done"
            rows={3}
            data-focus-first
            value={why}
            maxLength={10_000}
            onChange={(event) => setWhy(event.target.value)}
          />
        </Form>
      </Dialog>
    </>
  );
}
