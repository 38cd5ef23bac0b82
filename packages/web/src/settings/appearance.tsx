/** How it looks here, who is logged in, and what this is. */
import { useQuery } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import type { ReactNode } from "react";
import { useLogout } from "../app/use-logout.ts";
import { readStanding, switchNotices } from "../data/desktop-notices.ts";
import { usePreferences, type Contrast, type Density, type Theme } from "../data/preferences.ts";
import { whoamiQuery } from "../data/queries.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/field.tsx";

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
const KEYS = [
  { value: "on", label: "On" },
  { value: "off", label: "Off" },
] as const;

const NOTICES = {
  on: "Alerts that fire, and agents that ask while you look elsewhere.",
  off: "The browser asks once, as soon as you switch them on.",
  refused: "This browser refuses them for this page. Allow them beside the address, then switch them on again.",
  impossible: "Browsers show them only for pages of this machine or over TLS.",
} as const;

export function Appearance() {
  const preferences = usePreferences();
  const whoami = useQuery(whoamiQuery);
  const standing = readStanding(preferences.hasDesktopNotices);
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
        <Setting name="Single-key shortcuts" text="Press ? anywhere to see them.">
          <Choice
            label="Single-key shortcuts"
            value={preferences.hasSingleKeys ? "on" : "off"}
            options={KEYS}
            onChange={(value) => usePreferences.setState({ hasSingleKeys: value === "on" })}
          />
        </Setting>
      </Section>
      <Section title="Notices">
        <Setting name="On this desktop" text={NOTICES[standing]}>
          <Choice
            label="Notices on this desktop"
            value={preferences.hasDesktopNotices ? "on" : "off"}
            options={KEYS}
            onChange={(value) => void switchNotices(value === "on")}
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
