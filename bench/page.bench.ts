/** P7: a session of 30,000 events in Chromium: opened, scrolled, and growing by 1,000 events a second; in turns with a bare page that
 *  shows how much of it is the machine. */
import { chromium, type Browser, type Page } from "playwright-core";
import { openBarePage } from "./bare-page.ts";
import { startDrover, type WorkerAccess } from "./drover.ts";
import { postEvents, toRunEvent } from "./long-run.ts";
import { report, toPercentiles } from "./result.ts";

const EVENTS = 30_000;
const RUNS = Number(process.env["BENCH_RUNS"] ?? 5);
const STREAM_SECONDS = 8;
const STREAM_PER_SECOND = 1_000;
const STREAM_STEP_MS = 50;
const SCROLL_STEPS = 120;
const SLOW_FRAME_MS = 50;
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

declare global {
  interface Window {
    firstRowMs?: number;
    frameTimes?: number[];
    stopFrames?: () => void;
  }
}

/** When the first row of the feed was drawn, in milliseconds since the navigation began. */
function watchFirstRow(): void {
  const look = () => {
    if (document.querySelector("article") === null) return void requestAnimationFrame(look);
    // The frame after the one in which it was put there has painted it.
    requestAnimationFrame(() => {
      window.firstRowMs = performance.now();
    });
  };
  requestAnimationFrame(look);
}

function startFrames(): void {
  const frames: number[] = [];
  let last = performance.now();
  let isOn = true;
  requestAnimationFrame(function step(now) {
    frames.push(now - last);
    last = now;
    if (isOn) requestAnimationFrame(step);
  });
  window.frameTimes = frames;
  window.stopFrames = () => {
    isOn = false;
  };
}

const stopFrames = (page: Page): Promise<number[]> =>
  page.evaluate(() => {
    window.stopFrames?.();
    return window.frameTimes ?? [];
  });

const toSlowPercent = (frames: readonly number[]): number =>
  (100 * frames.filter((ms) => ms > SLOW_FRAME_MS).length) / Math.max(1, frames.length);

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Sample {
  readonly paint: number;
  readonly scroll: number;
  readonly stream: number;
  readonly heap: number;
  readonly frames: number;
}

/** Sends at the rate, whatever that costs; tells how many. */
async function flood(url: string, sandbox: WorkerAccess, from: number): Promise<number> {
  const since = performance.now();
  let sent = 0;
  while (performance.now() - since < STREAM_SECONDS * 1_000) {
    const due = Math.floor(((performance.now() - since) * STREAM_PER_SECOND) / 1_000) - sent;
    if (due > 0) {
      const step = Math.min(due, 500);
      await postEvents(
        url,
        sandbox,
        Array.from({ length: step }, (_, n) => toRunEvent(from + sent + n)),
      );
      sent += step;
    }
    await wait(STREAM_STEP_MS);
  }
  return sent;
}

interface Kind {
  readonly open: (page: Page, sandbox: WorkerAccess) => Promise<unknown>;
  readonly hasAll: (page: Page, least: number) => Promise<unknown>;
}

async function measure(browser: Browser, { open, hasAll }: Kind, sandbox: WorkerAccess, had: number) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    await context.request.post(`${drover.url}/api/v1/auth/login`, { data: { token: drover.token } });
    const page = await context.newPage();
    await page.addInitScript(watchFirstRow);
    await open(page, sandbox);
    await page.waitForFunction(() => window.firstRowMs !== undefined);
    const paint = await page.evaluate(() => window.firstRowMs ?? Number.NaN);
    await hasAll(page, had);
    await page.mouse.move(400, 400);
    await wait(500);
    await page.evaluate(startFrames);
    for (let step = 0; step < SCROLL_STEPS; step += 1) {
      await page.mouse.wheel(0, step % 40 < 30 ? -900 : 900);
      await wait(40);
    }
    const scrolled = await stopFrames(page);
    await page.keyboard.press("Shift+G");
    await wait(500);
    await page.evaluate(startFrames);
    const sent = await flood(drover.url, sandbox, had);
    const streamed = await stopFrames(page);
    // All that was sent is shown, or the figure would praise a page that stood still.
    await hasAll(page, had + sent);
    const devtools = await context.newCDPSession(page);
    await devtools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await devtools.send("Runtime.getHeapUsage");
    const sample: Sample = {
      paint,
      scroll: toSlowPercent(scrolled),
      stream: toSlowPercent(streamed),
      heap: usedSize / 1e6,
      frames: scrolled.length + streamed.length,
    };
    return { sample, sent };
  } finally {
    await context.close();
  }
}

await using drover = await startDrover();

const OURS: Kind = {
  open: (page, { id }) => page.goto(`${drover.url}/sandboxes/${id}`),
  hasAll: async (page, least) => {
    await page.waitForFunction(
      (head) => Number(document.querySelector("[data-testid=feed]")?.getAttribute("data-head")) >= head,
      least,
    );
    // The header says how much of it is loaded until all is.
    await page.waitForFunction(() => !/ of /.test(document.querySelector("dl")?.textContent ?? " of "));
  },
};
const BARE: Kind = {
  open: (page, { id }) => openBarePage(page, drover.url, id),
  hasAll: (page, least) => page.waitForFunction((rows) => Number(document.body.dataset["rows"]) >= rows, least),
};

const ours: Sample[] = [];
const bare: Sample[] = [];
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    // The bare page comes from this file, which Chromium takes for a place elsewhere.
    "--disable-features=LocalNetworkAccessChecks",
  ],
});
try {
  for (let run = 0; run < RUNS; run += 1) {
    for (const [name, kind, samples] of [
      ["bare", BARE, bare],
      ["ours", OURS, ours],
    ] as const) {
      const sandbox = await drover.createSandbox();
      await postEvents(
        drover.url,
        sandbox,
        Array.from({ length: EVENTS }, (_, n) => toRunEvent(n)),
      );
      const { sample, sent } = await measure(browser, kind, sandbox, EVENTS);
      samples.push(sample);
      console.log(
        `run ${run + 1}, ${name}: first row ${Math.round(sample.paint)} ms, slow frames ${sample.scroll.toFixed(2)} % scrolling, ${sample.stream.toFixed(2)} % streaming (${Math.round(sent / STREAM_SECONDS)} events/s) of ${sample.frames}, ${Math.round(sample.heap)} MB`,
      );
    }
  }
} finally {
  await browser.close();
}

const shared = `median of ${RUNS} runs; Chromium without GPU, 1280 x 800; the floor is a bare page in the same run`;
const frames = ours.reduce((sum, sample) => sum + sample.frames, 0);

function tell(
  id: string,
  what: string,
  name: Exclude<keyof Sample, "frames">,
  limit: number,
  unit: string,
  note = "",
): void {
  const times = toPercentiles(ours.map((sample) => sample[name]));
  const floor = toPercentiles(bare.map((sample) => sample[name])).p50;
  report({
    id,
    title: `30,000 events in Chromium: ${what}`,
    ours: times.p50,
    floor,
    ratio: floor === 0 ? null : times.p50 / floor,
    target: `< ${limit} ${unit}`,
    met: times.p50 <= limit,
    n: ours.length,
    ...times,
    unit,
    note: shared + note,
  });
}
tell("P7a", "first row painted", "paint", 1_000, "ms");
tell("P7b", "frames above 50 ms while scrolling", "scroll", 1, "%", `; ${frames} frames with those of P7c`);
tell(
  "P7c",
  "frames above 50 ms at 1,000 events/s",
  "stream",
  1,
  "%",
  `; ${STREAM_SECONDS} s, followed to the end, all of them shown`,
);
tell("P7d", "JavaScript heap", "heap", 300, "MB", "; after the stream");
