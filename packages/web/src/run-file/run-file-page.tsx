/** A run that was taken along as one file: any moment of it, with nobody to ask. */
import type { LogEvent } from "@drover/client";
import { SandboxState } from "@drover/contract";
import {
  emptyFeed,
  foldFeed,
  indexOfSeq,
  listStops,
  ReplayTrack,
  toTimeline,
  type LogEvent as ViewedEvent,
} from "@drover/contract/views";
import { FileDiff, ListTree, Moon, SquareTerminal, Sun } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { formatDay } from "../data/format.ts";
import { toggleTheme, useAppearance } from "../data/preferences.ts";
import { Feed } from "../feed/feed.tsx";
import { Openness, RunContext } from "../feed/run-context.tsx";
import { Commands } from "../replay/commands.tsx";
import { Figures } from "../replay/figures.tsx";
import { Panes } from "../replay/panes.tsx";
import { Scrubber, type Scale } from "../replay/scrubber.tsx";
import { usePlayer, type Speed } from "../replay/use-player.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy.tsx";
import { Mark } from "../ui/mark.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { MomentChanges } from "./moment-changes.tsx";
import type { RunFile } from "./run-file.ts";

const PANES = {
  changes: { label: "Changes", icon: FileDiff },
  terminal: { label: "Terminal", icon: SquareTerminal },
  feed: { label: "Feed", icon: ListTree },
} as const;
type Pane = keyof typeof PANES;

/** The moment stands behind the #, so that a place in a file can be passed on. */
const readMoment = (): number | undefined => {
  const at = Number(/^#at=(\d+)$/.exec(location.hash)?.[1]);
  return Number.isSafeInteger(at) ? at : undefined;
};

const copyMoment = (at: number) => void copyText(new URL(`#at=${at}`, location.href).href);

export function RunFilePage({ run }: { readonly run: RunFile }) {
  const { events, sandbox } = run;
  const [track] = useState(() => new ReplayTrack());
  const [openness] = useState(() => new Openness());
  const [pane, setPane] = useState<Pane>("changes");
  const [speed, setSpeed] = useState<Speed>("1");
  const [scale, setScale] = useState<Scale>("seq");
  const [told, setTold] = useState(readMoment);
  const onMove = useCallback((at: number | undefined) => {
    setTold(at);
    history.replaceState(null, "", at === undefined ? "#" : `#at=${at}`);
  }, []);
  const log = useMemo(() => toLog(events), [events]);
  const player = usePlayer({ log, told, speed, onMove });
  const { at } = player;
  const whole = useMemo(() => foldFeed(emptyFeed(), events), [events]);
  const view = useMemo(() => (at >= log.last ? whole : track.at(events, at)), [at, log, whole, track, events]);
  const stops = useMemo(() => listStops(events), [events]);
  const timeline = useMemo(() => toTimeline(events), [events]);
  const { isDark } = useAppearance();
  const context = useMemo(
    () => ({
      sandboxId: sandbox.id,
      openness,
      mayAnswer: false,
      onFullDiff: () => setPane("changes"),
      onCopyLink: copyMoment,
    }),
    [sandbox.id, openness],
  );
  useKeys({ theme: toggleTheme });
  const state = SandboxState.safeParse(sandbox.state);
  const title = sandbox.prompt?.split("\n", 1)[0] ?? sandbox.id;
  return (
    <RunContext.Provider value={context}>
      <div className="flex h-dvh min-h-0 flex-col" data-testid="replay" data-at={at}>
        <header className="flex min-h-14 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-surface px-4 py-2 md:px-5">
          <Mark size={26} />
          <h1 className="min-w-0 flex-1 truncate text-sm font-semibold tracking-tight" title={title}>
            {title}
          </h1>
          {state.success && <StateBadge state={state.data} />}
          <Button look="ghost" size="icon" aria-label={isDark ? "Light" : "Dark"} onClick={() => void toggleTheme()}>
            {isDark ? <Sun size={16} /> : <Moon size={16} />}
          </Button>
          <p className="w-full truncate text-2xs text-ink-3">
            {[sandbox.id, sandbox.runtime, sandbox.model, sandbox.branch].filter((fact) => fact !== null).join(" · ")} ·
            taken along {formatDay(run.exported_at)}
          </p>
        </header>
        <main className="flex min-h-0 flex-1 flex-col">
          <Figures view={view} moment={undefined} event={events[indexOfSeq(events, at)]} isWhole>
            {null}
          </Figures>
          <Panes
            panes={PANES}
            pane={pane}
            onPane={setPane}
            feed={
              <Feed
                rows={view.rows}
                isPastChanged={false}
                head={at}
                selected={undefined}
                onSelect={player.seek}
                label="Events up to this moment"
              />
            }
          >
            {pane === "terminal" ? <Commands view={view} /> : <MomentChanges rows={view.rows} files={view.files} />}
          </Panes>
          <Scrubber
            player={player}
            log={log}
            stops={stops}
            timeline={timeline}
            speed={speed}
            scale={scale}
            onSpeed={setSpeed}
            onScale={setScale}
          />
        </main>
      </div>
    </RunContext.Provider>
  );
}

const toLog = (events: readonly LogEvent[] & readonly ViewedEvent[]) => ({
  events,
  isWhole: true,
  first: events[0]?.sandbox_seq ?? 1,
  last: events.at(-1)?.sandbox_seq ?? 1,
  count: events.length,
});
