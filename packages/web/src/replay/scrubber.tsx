/** The scrubber of a run: a slider over events or time above a strip of what happened, steps, and the film's speed. */
import type { Stops, Timeline } from "@drover/contract/views";
import { pickStop } from "@drover/contract/views";
import {
  ChevronFirst,
  ChevronLast,
  ChevronLeft,
  ChevronRight,
  FilePen,
  Pause,
  Play,
  TriangleAlert,
  type LucideIcon,
} from "lucide-react";
import type { ActionName } from "../app/actions.ts";
import { useKeys } from "../app/keys.ts";
import { formatCount, formatSpan } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Choice } from "../ui/field.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { Strip } from "./strip.tsx";
import type { ReplayLog } from "./use-replay-log.ts";
import { SPEEDS, type Player, type Speed } from "./use-player.ts";

const SPEED_OPTIONS = SPEEDS.map((value) => ({ value, label: `${value}×` }));
const SCALES = [
  { value: "seq", label: "Events" },
  { value: "time", label: "Time" },
] as const;
export type Scale = (typeof SCALES)[number]["value"];

interface ScrubberProps {
  readonly player: Player;
  readonly log: ReplayLog;
  readonly stops: Stops;
  readonly timeline: Timeline;
  readonly speed: Speed;
  readonly scale: Scale;
  readonly onSpeed: (speed: Speed) => void;
  readonly onScale: (scale: Scale) => void;
}

export function Scrubber({ player, log, stops, timeline, speed, scale, onSpeed, onScale }: ScrubberProps) {
  const { first, last, isWhole, events } = log;
  const { at, isPlaying, filmMs, seek, seekFilm, toggle } = player;
  const stepTo = (places: readonly number[], step: 1 | -1) => {
    const next = pickStop(places, at, step);
    if (next !== undefined) seek(next);
  };
  const changeSpeed = (step: number) => {
    const next = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(speed) + step))];
    if (next !== undefined) onSpeed(next);
  };
  useKeys({
    play: () => isWhole && toggle(),
    momentBack: () => seek(at - 1),
    momentOn: () => seek(at + 1),
    turnBack: () => stepTo(stops.turns, -1),
    turnOn: () => stepTo(stops.turns, 1),
    editBack: () => stepTo(stops.edits, -1),
    editOn: () => stepTo(stops.edits, 1),
    errorBack: () => stepTo(stops.errors, -1),
    errorOn: () => stepTo(stops.errors, 1),
    slower: () => changeSpeed(-1),
    faster: () => changeSpeed(1),
  });
  // How long the run is can be told when all of it is there.
  const isByTime = isWhole && scale === "time";
  const where = `event ${formatCount(at)} of ${formatCount(last)}`;
  return (
    <section aria-label="Scrubber" className="shrink-0 border-t border-line bg-surface px-3 py-2 md:px-5">
      <Strip
        timeline={timeline}
        share={isByTime ? filmMs / Math.max(1, timeline.lengthMs) : (at - first) / Math.max(1, last - first)}
        first={first}
        last={last}
        loadedFrom={events[0]?.sandbox_seq ?? first}
        scale={isByTime ? "time" : "seq"}
        player={player}
      />
      <input
        type="range"
        aria-label={isByTime ? "Time in the run" : "Event in the run"}
        aria-valuetext={isWhole ? `${where}, ${formatSpan(filmMs)}` : where}
        min={isByTime ? 0 : first}
        max={isByTime ? Math.max(1, timeline.lengthMs) : last}
        step={1}
        value={isByTime ? filmMs : at}
        onChange={(event) => (isByTime ? seekFilm : seek)(Number(event.target.value))}
        className="block h-6 w-full accent-live"
      />
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5">
        <div className="flex items-center gap-0.5">
          <StepButton
            icon={ChevronFirst}
            label="Turn before"
            action="turnBack"
            onClick={() => stepTo(stops.turns, -1)}
          />
          <StepButton icon={ChevronLeft} label="Event before" action="momentBack" onClick={() => seek(at - 1)} />
          <Tooltip label={isPlaying ? "Pause" : "Play"} action="play">
            <Button
              look="solid"
              size="icon"
              aria-label={isPlaying ? "Pause" : "Play"}
              disabled={!isWhole}
              onClick={toggle}
            >
              {isPlaying ? <Pause size={15} /> : <Play size={15} />}
            </Button>
          </Tooltip>
          <StepButton icon={ChevronRight} label="Next event" action="momentOn" onClick={() => seek(at + 1)} />
          <StepButton icon={ChevronLast} label="Next turn" action="turnOn" onClick={() => stepTo(stops.turns, 1)} />
        </div>
        <Steps
          icon={FilePen}
          name="change"
          count={stops.edits.length}
          back="editBack"
          on="editOn"
          onStep={(step) => stepTo(stops.edits, step)}
        />
        <Steps
          icon={TriangleAlert}
          name="error"
          count={stops.errors.length}
          back="errorBack"
          on="errorOn"
          onStep={(step) => stepTo(stops.errors, step)}
        />
        <p
          className="flex-1 text-right text-xs whitespace-nowrap text-ink-3 tabular-nums max-md:order-last max-md:w-full max-md:flex-none max-md:text-left"
          data-testid="where"
        >
          {where}{" "}
          <span className="max-sm:hidden">
            {isWhole
              ? `· ${formatSpan(filmMs)} of ${formatSpan(timeline.lengthMs)}`
              : `· reading the run, ${formatCount(log.count)} of ${formatCount(last)} events`}
          </span>
        </p>
        {isWhole && <Choice label="Scale" value={scale} options={SCALES} onChange={onScale} />}
        <Choice label="Speed" value={speed} options={SPEED_OPTIONS} onChange={onSpeed} />
      </div>
    </section>
  );
}

function StepButton({
  icon: Icon,
  label,
  action,
  onClick,
}: {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly action: ActionName;
  readonly onClick: () => void;
}) {
  return (
    <Tooltip label={label} action={action}>
      <Button look="ghost" size="icon" aria-label={label} onClick={onClick}>
        <Icon size={16} />
      </Button>
    </Tooltip>
  );
}

interface StepsProps {
  readonly icon: LucideIcon;
  readonly name: string;
  readonly count: number;
  readonly back: ActionName;
  readonly on: ActionName;
  readonly onStep: (step: 1 | -1) => void;
}

function Steps({ icon: Icon, name, count, back, on, onStep }: StepsProps) {
  if (count === 0) return null;
  return (
    <div className={cx("flex items-center rounded-lg border border-line text-ink-3")}>
      <StepButton icon={ChevronLeft} label={`Previous ${name}`} action={back} onClick={() => onStep(-1)} />
      <span className="flex items-center gap-1 text-2xs tabular-nums" title={`${count} ${name}s`}>
        <Icon size={12} aria-hidden /> {formatCount(count)}
      </span>
      <StepButton icon={ChevronRight} label={`Next ${name}`} action={on} onClick={() => onStep(1)} />
    </div>
  );
}
