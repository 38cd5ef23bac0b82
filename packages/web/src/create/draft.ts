/** What a person typed into the form of a new sandbox, kept until it is made; and the request it stands for. */
import type { NewSandbox } from "@drover/contract";
import type { ClientError } from "@drover/client";

export interface Draft {
  readonly prompt: string;
  readonly project: string;
  readonly repo: string;
  readonly branch: string;
  readonly provider: string;
  readonly runtime: string;
  readonly model: string;
  readonly memory: string;
  readonly cpu: string;
  readonly disk: string;
  readonly network: string;
  readonly budget: string;
  readonly mode: string;
  readonly policy: string;
  readonly deadline: string;
  readonly turns: string;
  readonly minutes: string;
  /** NAME=value, a line each. */
  readonly env: string;
}

export type Part = keyof Draft;

const EMPTY: Draft = {
  prompt: "",
  project: "",
  repo: "",
  branch: "",
  provider: "",
  runtime: "claude",
  model: "",
  memory: "",
  cpu: "",
  disk: "",
  network: "",
  budget: "",
  mode: "",
  policy: "",
  deadline: "",
  turns: "",
  minutes: "",
  env: "",
};

const KEPT = "drover.new-sandbox";

export function readDraft(): Draft {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    const entries = Object.entries(kept ?? {}).filter(([part, value]) => part in EMPTY && typeof value === "string");
    return { ...EMPTY, ...Object.fromEntries(entries) };
  } catch {
    // Expected: somebody else wrote there.
    return EMPTY;
  }
}

/** What may be kept in this browser: variables may be secrets. */
export const withoutSecrets = (draft: Draft): Draft => ({ ...draft, env: "" });

export const keepDraft = (draft: Draft): void => localStorage.setItem(KEPT, JSON.stringify(withoutSecrets(draft)));

/** What one chose stays for the next one; what it was about does not. */
export const forgetPrompt = (draft: Draft): void => keepDraft({ ...draft, prompt: "" });

const NUMBERS: Readonly<Partial<Record<Part, { readonly most: number; readonly isWhole?: true }>>> = {
  memory: { most: 8 },
  cpu: { most: 4 },
  disk: { most: 10 },
  budget: { most: 100_000 },
  turns: { most: 10_000, isWhole: true },
  minutes: { most: 60 * 24 * 7 },
  deadline: { most: 60 * 24 * 7 },
};

const toVariables = (text: string): readonly string[] => text.split("\n").filter((line) => line.trim() !== "");

const VARIABLE = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/;

export type Complaints = Readonly<Partial<Record<Part, string>>>;

export function findComplaints(draft: Draft): Complaints {
  const complaints: Partial<Record<Part, string>> = {};
  if (draft.prompt.trim() === "") complaints.prompt = "Say what the agent should do.";
  if (draft.branch.trim() !== "" && draft.repo.trim() === "" && draft.project === "")
    complaints.branch = "A branch of which repository?";
  const odd = toVariables(draft.env).find((line) => !VARIABLE.test(line));
  if (odd !== undefined) complaints.env = `One NAME=value on each line, and not "${odd.trim().slice(0, 40)}".`;
  for (const [part, { most, isWhole }] of Object.entries(NUMBERS) as [Part, { most: number; isWhole?: true }][]) {
    const text = draft[part].trim();
    if (text === "") continue;
    const value = Number(text);
    if (!Number.isFinite(value) || value <= 0 || value > most) complaints[part] = `A number above 0, at most ${most}.`;
    else if (isWhole === true && !Number.isInteger(value)) complaints[part] = "A whole number.";
  }
  return complaints;
}

const known = <T extends object>(given: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== "")) as T;

const number = (text: string, factor = 1): number | undefined =>
  text.trim() === "" ? undefined : Math.round(Number(text) * factor * 1_000) / 1_000;

/** The server checks every word again; what it refuses is shown at its field. */
export function toRequest(draft: Draft): NewSandbox {
  const resources = known({ memory_gb: number(draft.memory), cpu: number(draft.cpu), disk_gb: number(draft.disk) });
  const env = Object.fromEntries(
    toVariables(draft.env).flatMap((line) => {
      const [, name, value] = VARIABLE.exec(line) ?? [];
      return name === undefined ? [] : [[name, value ?? ""]];
    }),
  );
  const minutes = number(draft.minutes, 60);
  const deadline = number(draft.deadline, 60);
  return known({
    prompt: draft.prompt.trim(),
    project_id: draft.project as NewSandbox["project_id"],
    repo: draft.repo.trim(),
    base_branch: draft.branch.trim(),
    provider: draft.provider as NewSandbox["provider"],
    runtime: draft.runtime,
    model: draft.model.trim(),
    resources: Object.keys(resources).length === 0 ? undefined : resources,
    env: Object.keys(env).length === 0 ? undefined : env,
    network: draft.network as NewSandbox["network"],
    budget_usd: number(draft.budget),
    permission_mode: draft.mode as NewSandbox["permission_mode"],
    permission_policy:
      draft.policy === "" && deadline === undefined
        ? undefined
        : {
            decision: (draft.policy === "" ? "ask" : draft.policy) as "allow",
            rules: [],
            ...(deadline === undefined ? {} : { deadline_s: Math.max(1, Math.round(deadline)) }),
          },
    max_turns: number(draft.turns),
    timeout_s: minutes === undefined ? undefined : Math.max(1, Math.round(minutes)),
  }) as NewSandbox;
}

const PART_OF_CODE: Readonly<Record<string, Part>> = {
  "provider.unavailable": "provider",
  "runtime.unavailable": "runtime",
  "repository.unavailable": "repo",
  "project.not_found": "project",
};
const PART_OF_PATH: Readonly<Record<string, Part>> = {
  prompt: "prompt",
  project_id: "project",
  repo: "repo",
  base_branch: "branch",
  provider: "provider",
  runtime: "runtime",
  model: "model",
  "resources.memory_gb": "memory",
  "resources.cpu": "cpu",
  "resources.disk_gb": "disk",
  network: "network",
  budget_usd: "budget",
  permission_mode: "mode",
  permission_policy: "policy",
  max_turns: "turns",
  timeout_s: "minutes",
  env: "env",
};

/** What the server refused, field by field. */
export function toComplaints(error: ClientError): Complaints {
  const part = PART_OF_CODE[error.code];
  if (part !== undefined) return { [part]: error.problem?.detail ?? error.message };
  const entries = (error.problem?.errors ?? []).flatMap(({ path, message }) => {
    const name = path.replace(/^body\./, "");
    const named = PART_OF_PATH[name] ?? (name.startsWith("env.") ? "env" : undefined);
    return named === undefined ? [] : [[named, message] as const];
  });
  return Object.fromEntries(entries);
}
