/** People and programs, by the token each of them has: what it may do, on which project, until when. Told once, and revoked. */
import { Role, type CreatedToken, type NewToken as NewTokenBody, type Token } from "@drover/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { formatAge, formatDay } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { projectsQuery, tokensQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Choice, Field } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { Select } from "../ui/select.tsx";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { notify } from "../ui/notify.ts";

const DAY_MS = 86_400_000;
const LASTS = [
  { value: "", label: "Until it is revoked" },
  { value: "1", label: "A day" },
  { value: "30", label: "30 days" },
  { value: "365", label: "A year" },
];
const MAY: Readonly<Record<Role, string>> = {
  viewer: "May look at everything, and change nothing.",
  operator: "May also start, steer and end sandboxes, tickets and budgets.",
  admin: "May also change projects, keys, prices, agents and tokens.",
};
const ROLES = Role.options.map((role) => ({ value: role, label: role }));

export function Tokens() {
  const tokens = useQuery(tokensQuery);
  const projects = useQuery(projectsQuery);
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [doomed, setDoomed] = useState<Token>();
  const revoke = useMutation({
    mutationFn: (token: Token) => client.revokeToken({ params: { token_id: token.id } }),
    onSuccess: (token) => {
      notify.good(`${token.name} is revoked`);
      return queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
    onError: (error) => notify.bad(`Not revoked: ${error.message}`),
  });
  return (
    <Section
      title="People and tokens"
      action={
        <Button size="small" onClick={() => setAsking(true)}>
          <Plus size={14} /> New token
        </Button>
      }
    >
      <Listing read={tokens} what="The tokens" height="h-10">
        {(items) =>
          items.map((token) => (
            <TokenLine
              key={token.id}
              token={token}
              project={projects.data?.items.find((one) => one.id === token.project_id)?.name}
              onRevoke={() => setDoomed(token)}
            />
          ))
        }
      </Listing>
      <NewToken isOpen={isAsking} onClose={() => setAsking(false)} />
      <Confirm
        isOpen={doomed !== undefined}
        onClose={() => setDoomed(undefined)}
        onConfirm={() => doomed !== undefined && revoke.mutate(doomed)}
        title={`Revoke ${doomed?.name ?? "token"}?`}
        text="Whoever uses it is refused from now on, and its live connections close. This cannot be undone."
        verb="Revoke"
      />
    </Section>
  );
}

interface TokenLineProps {
  readonly token: Token;
  readonly project: string | undefined;
  readonly onRevoke: () => void;
}

function TokenLine({ token, project, onRevoke }: TokenLineProps) {
  const now = useNow();
  const isOver = token.revoked_at !== null || (token.expires_at !== null && Date.parse(token.expires_at) < now);
  const used =
    token.last_used_at === null ? "never used" : `used ${formatAge(now - Date.parse(token.last_used_at))} ago`;
  return (
    <div className="flex items-center gap-4 px-4 py-2.5">
      <div className="min-w-0 flex-1">
        <p className={cx("truncate text-sm font-medium", isOver && "text-ink-3 line-through")}>{token.name}</p>
        <p className="truncate text-xs text-ink-3">
          {[
            token.role,
            token.project_id === null ? "all projects" : (project ?? token.project_id),
            `made ${formatDay(token.created_at)}`,
            token.expires_at === null ? undefined : `until ${formatDay(token.expires_at)}`,
            token.revoked_at === null ? used : `revoked ${formatDay(token.revoked_at)}`,
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
      </div>
      {!isOver && (
        <Button size="small" onClick={onRevoke} aria-label={`Revoke ${token.name}`}>
          Revoke
        </Button>
      )}
    </div>
  );
}

function NewToken({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [project, setProject] = useState("");
  const [days, setDays] = useState("");
  const projects = useQuery(projectsQuery);
  const [created, setCreated] = useState<CreatedToken>();
  const create = useMutation({
    mutationFn: () =>
      client.createToken({
        body: {
          name,
          role,
          ...(project === "" ? {} : { project_id: project as NewTokenBody["project_id"] }),
          ...(days === "" ? {} : { expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString() }),
        },
      }),
    onSuccess: (token) => {
      setCreated(token);
      return queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
  });
  const close = () => {
    onClose();
    setCreated(undefined);
    setName("");
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={created === undefined ? "New token" : created.name}
      description={
        created === undefined
          ? "For a person or a program."
          : "Shown only now: the server keeps no copy that could be read again."
      }
    >
      {created === undefined ? (
        <form onSubmit={submit} className="flex flex-col gap-4">
          <Field
            label="Name"
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
            data-focus-first
            maxLength={100}
          />
          <div>
            <Choice label="Role" value={role} options={ROLES} onChange={setRole} />
            <p className="mt-1.5 text-xs text-ink-3">{MAY[role]}</p>
          </div>
          <div className="grid gap-4 sm:grid-cols-2">
            <Select
              label="On"
              value={project}
              onChange={(event) => setProject(event.target.value)}
              options={[
                { value: "", label: "All projects" },
                ...(projects.data?.items ?? []).map((one) => ({ value: one.id, label: one.name })),
              ]}
            />
            <Select label="For" value={days} onChange={(event) => setDays(event.target.value)} options={LASTS} />
          </div>
          {create.isError && <Problem error={create.error} what="The token was not created" />}
          <Button type="submit" look="solid" className="self-end" disabled={create.isPending || name.trim() === ""}>
            Create token
          </Button>
        </form>
      ) : (
        <div className="flex items-center gap-3 rounded-xl border border-line bg-sunken px-3 py-2">
          <code className="min-w-0 flex-1 font-mono text-xs break-all">{created.token}</code>
          <CopyButton text={created.token} name="token" />
        </div>
      )}
    </Dialog>
  );
}
