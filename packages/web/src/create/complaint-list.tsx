/** Which fields need a look, each with the way to it. */
import type { RefObject } from "react";
import type { Complaints, Part } from "./draft.ts";

const NAMES: Readonly<Record<Part, string>> = {
  prompt: "What to do",
  project: "Project",
  repo: "Repository",
  branch: "Branch",
  provider: "Provider",
  runtime: "Agent",
  model: "Model",
  memory: "Memory",
  cpu: "Cores",
  disk: "Disk",
  network: "Network",
  budget: "Budget",
  mode: "Unasked",
  policy: "Who answers",
  deadline: "Minutes to answer",
  turns: "Turns",
  minutes: "Minutes",
  env: "Variables",
};

interface ComplaintListProps {
  readonly complaints: Complaints;
  readonly form: RefObject<HTMLFormElement | null>;
}

export function ComplaintList({ complaints, form }: ComplaintListProps) {
  const parts = Object.keys(complaints) as Part[];
  const lead = (part: Part) => {
    // Agents are radio buttons, whose name is their own.
    const field = form.current?.querySelector<HTMLElement>(part === "runtime" ? "[type=radio]" : `[name=${part}]`);
    field?.scrollIntoView({ block: "center" });
    field?.focus({ preventScroll: true });
  };
  return (
    <div role="status" className="min-w-0 flex-1 text-xs text-fail-ink">
      {parts.length > 0 && (
        <>
          {parts.length === 1 ? "One field needs a look: " : `${parts.length} fields need a look: `}
          {parts.map((part, at) => (
            <span key={part}>
              {at > 0 && ", "}
              <button
                type="button"
                onClick={() => lead(part)}
                className="rounded font-medium underline underline-offset-2"
              >
                {NAMES[part]}
              </button>
            </span>
          ))}
        </>
      )}
    </div>
  );
}
