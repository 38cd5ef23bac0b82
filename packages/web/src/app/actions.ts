/** Every action with a key, once: the handlers, the tooltips and the help sheet read this table. */
export interface Action {
  /** As shown; a capital letter means Shift. Keys of a sequence are separated by a blank. */
  readonly keys: string;
  readonly label: string;
  readonly scope: "Everywhere" | "Sandboxes" | "Work" | "A run";
}

export const ACTIONS = {
  help: { keys: "?", label: "Show this sheet", scope: "Everywhere" },
  goWall: { keys: "g w", label: "Go to the wall", scope: "Everywhere" },
  goSandboxes: { keys: "g s", label: "Go to sandboxes", scope: "Everywhere" },
  goWork: { keys: "g t", label: "Go to work", scope: "Everywhere" },
  goAgents: { keys: "g a", label: "Go to agents", scope: "Everywhere" },
  goCosts: { keys: "g c", label: "Go to costs", scope: "Everywhere" },
  goSettings: { keys: "g p", label: "Go to settings", scope: "Everywhere" },
  search: { keys: "/", label: "Search", scope: "Everywhere" },
  theme: { keys: "t", label: "Switch between light and dark", scope: "Everywhere" },
  close: { keys: "Esc", label: "Close, or leave a field", scope: "Everywhere" },
  create: { keys: "n", label: "New sandbox", scope: "Everywhere" },
  nextSandbox: { keys: "j", label: "Next sandbox", scope: "Sandboxes" },
  previousSandbox: { keys: "k", label: "Previous sandbox", scope: "Sandboxes" },
  newTicket: { keys: "c", label: "New ticket", scope: "Work" },
  nextTicket: { keys: "j", label: "Next ticket", scope: "Work" },
  previousTicket: { keys: "k", label: "Previous ticket", scope: "Work" },
  moveForth: { keys: "]", label: "Move the ticket forth", scope: "Work" },
  moveBack: { keys: "[", label: "Move the ticket back", scope: "Work" },
  morePriority: { keys: "+", label: "Raise its priority", scope: "Work" },
  lessPriority: { keys: "-", label: "Lower its priority", scope: "Work" },
  nextEvent: { keys: "j", label: "Next event", scope: "A run" },
  previousEvent: { keys: "k", label: "Previous event", scope: "A run" },
  expand: { keys: "e", label: "Open or fold the selected event", scope: "A run" },
  copyLink: { keys: "y", label: "Copy a link to the selected event", scope: "A run" },
  fullDiff: { keys: "d", label: "Full diff of the selected edit", scope: "A run" },
  start: { keys: "g g", label: "Jump to the start", scope: "A run" },
  live: { keys: "G", label: "Jump to live and follow", scope: "A run" },
  message: { keys: "m", label: "Write a message", scope: "A run" },
  tabActivity: { keys: "1", label: "Activity", scope: "A run" },
  tabChanges: { keys: "2", label: "Changes", scope: "A run" },
  tabTerminal: { keys: "3", label: "Terminal", scope: "A run" },
  tabFiles: { keys: "4", label: "Files", scope: "A run" },
  tabDetails: { keys: "5", label: "Details", scope: "A run" },
  interrupt: { keys: "i", label: "Write an interrupt", scope: "A run" },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof ACTIONS;
