/** What this browser tells on the desktop, whether it may, and who is told elsewhere. */
import { readStanding, switchNotices } from "../data/desktop-notices.ts";
import { usePreferences } from "../data/preferences.ts";
import { Section } from "../pages/section.tsx";
import { OnOff, Setting } from "./setting.tsx";

const STANDINGS = {
  on: "This browser shows them, also while you look elsewhere.",
  off: "The browser asks once, as soon as you switch them on.",
  refused: "This browser refuses them for this page. Allow them beside the address, then switch them on again.",
  impossible: "Browsers show them only for pages of this machine or over TLS.",
} as const;

export function Notifications() {
  const isWanted = usePreferences((preferences) => preferences.hasDesktopNotices);
  return (
    <>
      <Section title="Notifications">
        <Setting name="On this desktop" text={STANDINGS[readStanding(isWanted)]}>
          <OnOff label="Notices on this desktop" isOn={isWanted} onChange={(next) => void switchNotices(next)} />
        </Setting>
      </Section>
      <Section title="What you are told">
        <Setting
          name="An agent that waits"
          text="It asks for a permission or an answer, and no page of Drover is in view."
        />
        <Setting name="An alert that fires" text="Of those rules on the monitor that name the desktop." />
      </Section>
    </>
  );
}
