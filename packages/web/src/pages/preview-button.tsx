/** Opens what a program inside a sandbox serves on one of its ports, in a tab of its own. */
import type { Sandbox } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { AppWindow } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Form } from "../ui/form.tsx";
import { Button } from "../ui/button.tsx";
import { Tooltip } from "../ui/tooltip.tsx";

const PORT = "3000";
const HIGHEST_PORT = 65_535;

export function PreviewButton({ sandbox }: { readonly sandbox: Sandbox }) {
  const [isAsking, setAsking] = useState(false);
  const [port, setPort] = useState(PORT);
  const number = Number(port);
  const isReady = Number.isInteger(number) && number >= 1 && number <= HIGHEST_PORT;
  const open = useMutation({
    mutationFn: () => client.openPreview({ params: { sandbox_id: sandbox.id }, body: { port: number } }),
    onSuccess: (preview) => {
      if (!preview.is_answering) return;
      window.open(preview.url, "_blank", "noopener");
      setAsking(false);
    },
  });
  return (
    <>
      <Tooltip label="Open what it serves">
        <Button size="small" aria-label="Open preview" onClick={() => setAsking(true)}>
          <AppWindow size={13} /> <span className="max-xl:hidden">Preview</span>
        </Button>
      </Tooltip>
      {isAsking && (
        <Dialog
          isOpen
          onClose={() => setAsking(false)}
          title="Open preview"
          description="What a program in the sandbox serves, in a tab of its own."
        >
          <Form verb="Open" isReady={isReady} sent={open} refused="There is no preview">
            <Field
              label="Port"
              data-focus-first
              inputMode="numeric"
              value={port}
              complaint={isReady ? undefined : "A number from 1 to 65535."}
              onChange={(event) => {
                setPort(event.target.value);
                open.reset();
              }}
            />
            {open.data?.is_answering === false && (
              <p role="status" className="text-sm text-wait-ink">
                Nothing listens on port {port} yet.
              </p>
            )}
          </Form>
        </Dialog>
      )}
    </>
  );
}
