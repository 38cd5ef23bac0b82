/** How it looks here, who is logged in, and what this is. */
import { useQuery } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import { useLogout } from "../app/use-logout.ts";
import { usePreferences, type Contrast, type Density, type Theme } from "../data/preferences.ts";
import { whoamiQuery } from "../data/queries.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/field.tsx";
import { Setting } from "./setting.tsx";

const THEMES: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];
const CONTRASTS: readonly { readonly value: Contrast; readonly label: string }[] = [
  { value: "system", label: "System" },
  { value: "high", label: "High" },
];
const DENSITIES: readonly { readonly value: Density; readonly label: string }[] = [
  { value: "comfortable", label: "Comfortable" },
  { value: "compact", label: "Compact" },
];
export function Appearance() {
  const preferences = usePreferences();
  const whoami = useQuery(whoamiQuery);
  return (
    <>
      <Section title="Appearance">
        <Setting name="Theme" text="System follows your desktop.">
          <Choice
            label="Theme"
            value={preferences.theme}
            options={THEMES}
            onChange={(theme) => usePreferences.setState({ theme })}
          />
        </Setting>
        <Setting name="Contrast" text="High draws text in black or white, and every border plainly.">
          <Choice
            label="Contrast"
            value={preferences.contrast}
            options={CONTRASTS}
            onChange={(contrast) => usePreferences.setState({ contrast })}
          />
        </Setting>
        <Setting name="Density" text="How close tiles, lines and events stand.">
          <Choice
            label="Density"
            value={preferences.density}
            options={DENSITIES}
            onChange={(density) => usePreferences.setState({ density })}
          />
        </Setting>
      </Section>
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
    </>
  );
}

function Logout() {
  const logout = useLogout();
  return (
    <Button onClick={() => logout.mutate()} disabled={logout.isPending}>
      <LogOut size={15} /> Log out
    </Button>
  );
}
