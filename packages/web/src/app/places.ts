/** The pages of the product in their order: the rail and the palette read this table. */
import { Activity, Bot, Boxes, Coins, LayoutGrid, Settings2, SquareKanban } from "lucide-react";

export const PLACES = [
  { to: "/", label: "Wall", icon: LayoutGrid, action: "goWall" },
  { to: "/sandboxes", label: "Sandboxes", icon: Boxes, action: "goSandboxes" },
  { to: "/tasks", label: "Tasks", icon: SquareKanban, action: "goTasks" },
  { to: "/monitor", label: "Monitor", icon: Activity, action: "goMonitor" },
  { to: "/agents", label: "Agents", icon: Bot, action: "goAgents" },
  { to: "/costs", label: "Costs", icon: Coins, action: "goCosts" },
  { to: "/settings", label: "Settings", icon: Settings2, action: "goSettings" },
] as const;
