/** Notices of the desktop, for whoever asked for them: an alert that fires, an agent that asks while nobody looks. */
import type { EventFrame } from "@drover/contract";
import { readText } from "@drover/contract/views";
import { usePreferences } from "./preferences.ts";

type Standing = "on" | "off" | "refused" | "impossible";

const isPossible = (): boolean => "Notification" in window && window.isSecureContext;

/** What the browser allows and the person wants, together. */
export function readStanding(isWanted: boolean): Standing {
  if (!isPossible()) return "impossible";
  if (Notification.permission === "denied") return "refused";
  return isWanted && Notification.permission === "granted" ? "on" : "off";
}

/** Asked only when somebody presses a button for it: a question out of nowhere is refused for good. */
export async function switchNotices(isWanted: boolean): Promise<Standing> {
  if (isWanted && isPossible() && Notification.permission === "default") await Notification.requestPermission();
  usePreferences.setState({ hasDesktopNotices: isWanted });
  return readStanding(isWanted);
}

function show(title: string, body: string, tag: string, path: string): void {
  // The tag replaces an older notice of the same thing.
  const notice = new Notification(title, { body, tag });
  notice.addEventListener("click", () => {
    window.focus();
    location.assign(path);
  });
}

/** Text only: the desktop draws it, and an agent may have written it. */
export function tellDesktop(frames: readonly EventFrame[]): void {
  if (readStanding(usePreferences.getState().hasDesktopNotices) !== "on") return;
  for (const frame of frames) {
    const type = readText(frame.payload, "original_event_type") ?? frame.event_type;
    if (type === "alert.fired" && frame.payload["desktop"] === true)
      show(
        readText(frame.payload, "name") ?? "Alert",
        `${readText(frame.payload, "metric") ?? ""} is beyond its limit.`,
        frame.entity_id,
        "/monitor?tab=alerts",
      );
    if (type === "agent.permission_requested" && document.hidden)
      show(
        "An agent waits for you",
        `${readText(frame.payload, "tool") ?? "It"} needs an answer.`,
        frame.entity_id,
        `/sandboxes/${frame.entity_id}`,
      );
  }
}
