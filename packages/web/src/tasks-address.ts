/** The address of a page of work, from the one it had when they stood below `/work`. */
const FORMER = /^\/work(?:\/tasks(?=\/))?/;

export function toTasksAddress(former: string): string {
  const [path = "", search = ""] = former.split("?", 2);
  const now = path.replace(FORMER, "/tasks").replace(/\/$/, "");
  const asked = new URLSearchParams(search);
  if (asked.get("view") === "tasks") asked.set("view", "list");
  return asked.size === 0 ? now : `${now}?${asked}`;
}
