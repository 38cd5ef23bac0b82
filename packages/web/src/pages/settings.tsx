/** Settings: how it looks, who may enter, what this is. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { LogOut } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { TopBar } from "../app/top-bar-slot.tsx";
import { client } from "../data/client.ts";
import { usePreferences, type Density, type Theme } from "../data/preferences.ts";
import { queryClient, whoamiQuery } from "../data/queries.ts";
import { session } from "../data/session.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/field.tsx";
import { ModelKeys } from "./model-keys.tsx";
import { Section } from "./section.tsx";
import { Tokens } from "./tokens.tsx";

const THEMES: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];
const DENSITIES: readonly { readonly value: Density; readonly label: string }[] = [
  { value: "comfortable", label: "Comfortable" },
  { value: "compact", label: "Compact" },
];
const KEYS = [
  { value: "on", label: "On" },
  { value: "off", label: "Off" },
] as const;

export function SettingsPage() {
  const preferences = usePreferences();
  const whoami = useQuery(whoamiQuery);
  useEffect(() => {
    document.title = "Settings · Drover";
  }, []);
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Settings</h1>
      </TopBar>
      <div className="mx-auto flex max-w-3xl flex-col gap-8 px-4 py-6 md:px-6">
        <Section title="Appearance">
          <Setting name="Theme" text="System follows your desktop.">
            <Choice
              label="Theme"
              value={preferences.theme}
              options={THEMES}
              onChange={(theme) => usePreferences.setState({ theme })}
            />
          </Setting>
          <Setting name="Density" text="How close the rows of a run stand.">
            <Choice
              label="Density"
              value={preferences.density}
              options={DENSITIES}
              onChange={(density) => usePreferences.setState({ density })}
            />
          </Setting>
          <Setting name="Single-key shortcuts" text="Press ? anywhere to see them.">
            <Choice
              label="Single-key shortcuts"
              value={preferences.hasSingleKeys ? "on" : "off"}
              options={KEYS}
              onChange={(value) => usePreferences.setState({ hasSingleKeys: value === "on" })}
            />
          </Setting>
        </Section>
        {whoami.data?.role === "admin" && (
          <>
            <ModelKeys />
            <Tokens />
          </>
        )}
        <Section title="About">
          <Setting name="Drover" text="A self-hosted control plane for AI coding agents. Apache-2.0.">
            <a
              href="/openapi.json"
              target="_blank"
              rel="noreferrer"
              className="text-sm font-medium text-live-ink underline underline-offset-2"
            >
              API description
            </a>
          </Setting>
          <Setting
            name="Logged in as"
            text={whoami.data === undefined ? "…" : `${whoami.data.name}, ${whoami.data.role}`}
          >
            <Logout />
          </Setting>
        </Section>
      </div>
    </div>
  );
}

function Logout() {
  const router = useRouter();
  const logout = useMutation({
    mutationFn: () => client.logout(),
    onSettled: () => {
      session.leave();
      queryClient.clear();
      return router.navigate({ to: "/login" });
    },
  });
  return (
    <Button onClick={() => logout.mutate()} disabled={logout.isPending}>
      <LogOut size={15} /> Log out
    </Button>
  );
}

function Setting({
  name,
  text,
  children,
}: {
  readonly name: string;
  readonly text: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3">
      <div>
        <p className="text-sm font-medium">{name}</p>
        <p className="text-xs text-ink-3">{text}</p>
      </div>
      {children}
    </div>
  );
}
