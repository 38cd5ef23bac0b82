/** The same request for a shell, the command line, or a file. */
import { useMemo, useState } from "react";
import { CopyButton } from "../ui/copy.tsx";
import { Choice } from "../ui/field.tsx";
import { toRequest, type Draft } from "./draft.ts";
import { toCommand, toCurl, toYaml } from "./equivalents.ts";

const FORMS = [
  { value: "curl", label: "curl", name: "curl command" },
  { value: "cli", label: "CLI", name: "drover command" },
  { value: "yaml", label: "YAML", name: "YAML file" },
] as const;
type Form = (typeof FORMS)[number]["value"];

export function Equivalent({ draft }: { readonly draft: Draft }) {
  const [form, setForm] = useState<Form>("curl");
  const text = useMemo(() => {
    const request = toRequest(draft);
    if (form === "yaml") return toYaml(request);
    return form === "cli" ? toCommand(request) : toCurl(request, location.origin);
  }, [draft, form]);
  const name = FORMS.find(({ value }) => value === form)?.name ?? form;
  return (
    <aside aria-label="The same from a shell" className="min-w-0">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-xs font-semibold text-ink-3">The same from a shell</h2>
        <span className="flex items-center gap-2">
          <Choice label="Form" value={form} options={FORMS} onChange={setForm} />
          <CopyButton text={text} name={`the ${name}`} />
        </span>
      </div>
      <pre
        tabIndex={0}
        role="region"
        aria-label={name}
        className="max-h-[38dvh] overflow-auto rounded-xl border border-line bg-sunken px-3 py-2.5 font-mono text-2xs leading-relaxed break-words whitespace-pre-wrap text-ink-2"
      >
        {text}
      </pre>
    </aside>
  );
}
