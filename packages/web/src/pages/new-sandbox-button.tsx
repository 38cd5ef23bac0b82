/** The way to a new sandbox, on every page that lists them. */
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { Button } from "../ui/button.tsx";
import { Tooltip } from "../ui/tooltip.tsx";

export function NewSandboxButton() {
  const navigate = useNavigate();
  return (
    <Tooltip label="New sandbox" action="create">
      <Button look="solid" onClick={() => void navigate({ to: "/sandboxes/new" })}>
        <Plus size={16} aria-hidden />
        <span className="max-sm:sr-only">New</span>
        <span className="sr-only"> sandbox</span>
      </Button>
    </Tooltip>
  );
}
