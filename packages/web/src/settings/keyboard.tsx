/** Every key, and the switch for those of one letter. */
import { KeyList } from "../app/key-list.tsx";
import { usePreferences } from "../data/preferences.ts";
import { Section } from "../pages/section.tsx";
import { OnOff, Setting } from "./setting.tsx";

export function Keyboard() {
  const isOn = usePreferences((preferences) => preferences.hasSingleKeys);
  return (
    <>
      <Section title="Keyboard">
        <Setting
          name="Single-key shortcuts"
          text="Off, only Esc and keys with Ctrl or ⌘ do something; the palette still reaches everything."
        >
          <OnOff
            label="Single-key shortcuts"
            isOn={isOn}
            onChange={(hasSingleKeys) => usePreferences.setState({ hasSingleKeys })}
          />
        </Setting>
      </Section>
      <Section title="All keys">
        <div className="gap-x-10 px-4 py-3 lg:columns-2">
          <KeyList />
        </div>
      </Section>
    </>
  );
}
