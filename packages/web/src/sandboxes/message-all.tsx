/** One message to all that are selected. */
import type { Sandbox } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { notify } from "../ui/notify.ts";
import { TextArea } from "../ui/select.tsx";
import { count } from "./bulk-bar.tsx";

export function MessageAll({
  sandboxes,
  onClose,
}: {
  readonly sandboxes: readonly Sandbox[];
  readonly onClose: () => void;
}) {
  const [text, setText] = useState("");
  const send = useMutation({
    mutationFn: () =>
      Promise.allSettled(
        sandboxes.map(({ id }) =>
          client.sendMessage({
            params: { sandbox_id: id },
            body: { content: text.trim(), message_type: "user_message", delivery: "steer" },
          }),
        ),
      ),
    onSuccess: (results) => {
      const failed = results.filter(({ status }) => status === "rejected").length;
      if (failed > 0) notify.bad(`${count(failed)} could not be told`);
      if (failed < results.length) notify.good(`Sent to ${count(results.length - failed)}`);
      onClose();
    },
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Message to ${count(sandboxes.length)}`}
      description="Reaches each agent before its next action."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") send.mutate();
        }}
      >
        <TextArea label="Message" rows={4} value={text} onChange={(event) => setText(event.target.value)} autoFocus />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="solid" type="submit" disabled={text.trim() === "" || send.isPending}>
            <Send size={14} /> Send
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
