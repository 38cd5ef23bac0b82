/** States of work: icon and word, never colour alone. */
import { TaskStatus, type PullRequestState, type TicketStatus } from "@drover/contract";
import type { TicketPriority } from "@drover/contract/views";
import {
  Ban,
  ChevronDown,
  ChevronsUp,
  ChevronUp,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleX,
  Equal,
  GitMerge,
  GitPullRequest,
  GitPullRequestClosed,
  Hammer,
  Hand,
  Inbox,
  LoaderCircle,
  Lock,
  Microscope,
  PackageCheck,
  Play,
  ScanSearch,
  SkipForward,
  Undo2,
  type LucideIcon,
} from "lucide-react";
import { cx } from "../ui/class-names.ts";

interface Look {
  readonly icon: LucideIcon;
  readonly look: string;
  readonly word?: string;
  readonly isTurning?: true;
}

const GREY = "bg-sunken text-ink-2";
const LIVE = "bg-live-soft text-live-ink";
const WAIT = "bg-wait-soft text-wait-ink";
const DONE = "bg-done-soft text-done-ink";
const FAIL = "bg-fail-soft text-fail-ink";

export const TICKET_LOOKS: Readonly<Record<TicketStatus, Look>> = {
  backlog: { icon: Inbox, look: GREY },
  analyzing: { icon: ScanSearch, look: WAIT },
  building: { icon: Hammer, look: LIVE },
  "building-done": { icon: PackageCheck, look: LIVE, word: "built" },
  testing: { icon: Microscope, look: WAIT },
  done: { icon: CircleCheck, look: DONE },
};

const TASK_LOOKS: Readonly<Record<TaskStatus, Look>> = {
  pending: { icon: CircleDashed, look: GREY },
  blocked: { icon: Lock, look: WAIT },
  claiming: { icon: LoaderCircle, look: LIVE, isTurning: true },
  assigned: { icon: CircleDot, look: LIVE },
  running: { icon: Play, look: LIVE },
  pending_validation: { icon: ScanSearch, look: WAIT, word: "to be validated" },
  validating: { icon: ScanSearch, look: LIVE },
  needs_revision: { icon: Undo2, look: WAIT, word: "needs revision" },
  completed: { icon: CircleCheck, look: DONE },
  failed: { icon: CircleX, look: FAIL },
  cancelled: { icon: Ban, look: GREY },
  skipped: { icon: SkipForward, look: GREY },
};

/** Of a status that may be newer than this page. */
export const lookOfStatus = (status: string): Look => {
  const known = TaskStatus.safeParse(status);
  return TASK_LOOKS[known.success ? known.data : "pending"];
};

const PULL_LOOKS: Readonly<Record<PullRequestState, Look>> = {
  open: { icon: GitPullRequest, look: LIVE },
  merged: { icon: GitMerge, look: DONE },
  closed: { icon: GitPullRequestClosed, look: FAIL },
};

function Badge({ name, look: { icon: Icon, look, word, isTurning } }: { readonly name: string; readonly look: Look }) {
  return (
    <span
      data-status={name}
      className={cx(
        "inline-flex h-6 shrink-0 items-center gap-1.5 rounded-full pr-2.5 pl-2 text-xs font-semibold",
        look,
      )}
    >
      <Icon size={13} strokeWidth={2.4} aria-hidden className={cx(isTurning && "animate-spin")} />
      {word ?? name}
    </span>
  );
}

export const TicketBadge = ({ status }: { readonly status: TicketStatus }) => (
  <Badge name={status} look={TICKET_LOOKS[status]} />
);
export const TaskBadge = ({ status }: { readonly status: TaskStatus }) => (
  <Badge name={status} look={TASK_LOOKS[status]} />
);
export const PullBadge = ({ state }: { readonly state: PullRequestState }) => (
  <Badge name={state} look={PULL_LOOKS[state]} />
);

const PRIORITIES: Readonly<Record<TicketPriority, { readonly icon: LucideIcon; readonly look: string }>> = {
  CRITICAL: { icon: ChevronsUp, look: "text-fail-ink" },
  HIGH: { icon: ChevronUp, look: "text-wait-ink" },
  MEDIUM: { icon: Equal, look: "text-ink-3" },
  LOW: { icon: ChevronDown, look: "text-ink-3" },
};

export function PriorityMark({ priority }: { readonly priority: TicketPriority }) {
  const { icon: Icon, look } = PRIORITIES[priority];
  return (
    <span
      className={cx("inline-flex shrink-0 items-center gap-0.5 text-xs font-medium", look)}
      data-priority={priority}
    >
      <Icon size={14} aria-hidden />
      {priority.toLowerCase()}
    </span>
  );
}

export function WaitsForPerson({ text }: { readonly text: string }) {
  return (
    <span className="inline-flex shrink-0 items-center gap-1 text-xs font-medium text-wait-ink">
      <Hand size={13} aria-hidden /> {text}
    </span>
  );
}
