/** What the agent should do, written as markdown and looked at as such. */
import { useState, type ComponentProps } from "react";
import { Markdown } from "../feed/markdown.tsx";
import { Choice } from "../ui/field.tsx";
import { TextArea } from "../ui/select.tsx";

const LOOKS = [
  { value: "write", label: "Write" },
  { value: "read", label: "Preview" },
] as const;

export function PromptField(
  props: Omit<ComponentProps<typeof TextArea>, "label" | "value"> & { readonly value: string },
) {
  const [look, setLook] = useState<"write" | "read">("write");
  const isRead = look === "read" && props.value.trim() !== "";
  return (
    <div className="relative flex flex-col gap-2">
      {props.value.trim() !== "" && (
        <div className="absolute -top-2.5 right-0">
          <Choice label="The prompt" value={look} options={LOOKS} onChange={setLook} />
        </div>
      )}
      <TextArea label="What should the agent do?" {...props} className={isRead ? "hidden" : undefined} />
      {isRead && (
        <>
          <p className="text-sm font-medium">What should the agent do?</p>
          <div
            role="region"
            aria-label="Preview of the prompt"
            tabIndex={0}
            className="max-h-80 min-h-28 overflow-y-auto rounded-lg border border-line bg-surface px-3 py-2 text-sm"
          >
            <Markdown text={props.value} />
          </div>
        </>
      )}
    </div>
  );
}
