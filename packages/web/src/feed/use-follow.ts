/** Whether the feed follows its end. Only a person decides: layout shifts and our own scrolling never pause or resume it. */
import { useCallback, useEffect, useRef, useState } from "react";

/** After the last wheel or touch a list may glide on for this long. */
const GLIDE_MS = 700;
const END_PX = 4;
const UP_KEYS: ReadonlySet<string> = new Set(["PageUp", "ArrowUp", "Home"]);
const DOWN_KEYS: ReadonlySet<string> = new Set(["PageDown", "ArrowDown", "End", " "]);

export interface Follow {
  readonly isFollowing: boolean;
  /** Events that came since it was paused. */
  readonly missed: number;
  readonly pause: () => void;
  readonly resume: () => void;
  /** For effects and observers, which must see a pause at once. */
  readonly isOn: () => boolean;
}

/** `head`: number of the newest event. */
export function useFollow(scroller: HTMLElement | null, isAtFirst: boolean, head: number): Follow {
  /** The head at the pause; undefined while following. */
  const [pausedAt, setPausedAt] = useState<number | undefined>(isAtFirst ? undefined : head);
  const isOnNow = useRef(isAtFirst);
  const latestHead = useRef(head);
  useEffect(() => {
    latestHead.current = head;
  }, [head]);
  const pause = useCallback(() => {
    isOnNow.current = false;
    setPausedAt((old) => old ?? latestHead.current);
  }, []);
  const resume = useCallback(() => {
    isOnNow.current = true;
    setPausedAt(undefined);
  }, []);
  const isOn = useCallback(() => isOnNow.current, []);

  useEffect(
    () => (scroller === null ? undefined : listenForIntent(scroller, pause, resume)),
    [scroller, pause, resume],
  );

  return {
    isFollowing: pausedAt === undefined,
    missed: pausedAt === undefined ? 0 : Math.max(0, head - pausedAt),
    pause,
    resume,
    isOn,
  };
}

/** A person's upward scroll pauses; only a downward one of theirs that reaches the end resumes. */
function listenForIntent(scroller: HTMLElement, pause: () => void, resume: () => void): () => void {
  let downUntil = 0;
  let touchY = 0;
  let dragTop: number | undefined;
  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= END_PX;
  const up = () => {
    downUntil = 0;
    if (scroller.scrollHeight > scroller.clientHeight + END_PX) pause();
  };
  const down = () => {
    downUntil = performance.now() + GLIDE_MS;
    if (isAtEnd()) resume();
  };
  const listen = {
    wheel: (event: WheelEvent) => (event.deltaY < 0 ? up() : event.deltaY > 0 && down()),
    touchstart: (event: TouchEvent) => {
      touchY = event.touches[0]?.clientY ?? 0;
    },
    touchmove: (event: TouchEvent) => {
      const y = event.touches[0]?.clientY ?? touchY;
      if (y > touchY) up();
      else if (y < touchY) down();
      touchY = y;
    },
    keydown: (event: KeyboardEvent) => {
      if (UP_KEYS.has(event.key)) up();
      else if (DOWN_KEYS.has(event.key)) down();
    },
    pointerdown: (event: PointerEvent) => {
      const isScrollbar = event.target === scroller && event.offsetX >= scroller.clientWidth;
      dragTop = isScrollbar ? scroller.scrollTop : undefined;
    },
    scroll: () => {
      if (dragTop !== undefined) {
        if (scroller.scrollTop < dragTop) up();
        else if (scroller.scrollTop > dragTop) down();
        dragTop = scroller.scrollTop;
      }
      if (performance.now() < downUntil && isAtEnd()) resume();
    },
  };
  const ending = new AbortController();
  const options = { passive: true, signal: ending.signal };
  for (const [name, handler] of Object.entries(listen))
    scroller.addEventListener(name, handler as EventListener, options);
  const release = () => {
    dragTop = undefined;
  };
  window.addEventListener("pointerup", release, options);
  return () => ending.abort();
}
