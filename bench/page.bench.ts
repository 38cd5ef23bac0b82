/** P7: a session of 30,000 events in Chromium: opened, scrolled, and growing by 1,000 events a second. */
import { chromium, type Page } from "playwright-core";
import { startDrover } from "./drover.ts";
import { postEvents, toRunEvent } from "./long-run.ts";
import { report, toPercentiles } from "./result.ts";

const EVENTS = 30_000;
const RUNS = 5;
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

await using drover = await startDrover();
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
});
const figures = { paint: [] as number[], scroll: [] as number[], stream: [] as number[], heap: [] as number[] };
let framesSeen = 0;
try {
  for (let run = 0; run < RUNS; run += 1) {
    const sandbox = await drover.createSandbox();
    await postEvents(
      drover.url,
      sandbox,
      Array.from({ length: EVENTS }, (_, n) => toRunEvent(n)),
    );
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    await context.request.post(`${drover.url}/api/v1/auth/login`, { data: { token: drover.token } });
    const page = await context.newPage();
    await page.addInitScript(watchFirstRow);
    await page.goto(`${drover.url}/sandboxes/${sandbox.id}`);
    await page.waitForFunction(() => window.firstRowMs !== undefined);
    figures.paint.push(await page.evaluate(() => window.firstRowMs ?? Number.NaN));
    // The header says how much of it is loaded until all is.
    await page.waitForFunction(() => /events30,0\d\d(?! of)/.test(document.querySelector("dl")?.textContent ?? ""));
    await page.mouse.move(400, 400);
    await wait(500);

    await page.evaluate(startFrames);
    for (let step = 0; step < SCROLL_STEPS; step += 1) {
      await page.mouse.wheel(0, step % 40 < 30 ? -900 : 900);
      await wait(40);
    }
    const scrolled = await stopFrames(page);
    figures.scroll.push(toSlowPercent(scrolled));

    await page.keyboard.press("Shift+G");
    await wait(500);
    await page.evaluate(startFrames);
    const since = performance.now();
    let sent = 0;
    while (performance.now() - since < STREAM_SECONDS * 1_000) {
      const due = Math.floor(((performance.now() - since) * STREAM_PER_SECOND) / 1_000) - sent;
      if (due > 0) {
        await postEvents(
          drover.url,
          sandbox,
          Array.from({ length: Math.min(due, 500) }, (_, n) => toRunEvent(EVENTS + sent + n)),
        );
        sent += Math.min(due, 500);
      }
      await wait(STREAM_STEP_MS);
    }
    const streamed = await stopFrames(page);
    figures.stream.push(toSlowPercent(streamed));
    framesSeen += scrolled.length + streamed.length;
    // All that was sent is shown, or the figure would praise a page that stood still.
    await page.waitForFunction(
      (least) => Number(document.querySelector("[data-testid=feed]")?.getAttribute("data-head")) >= least,
      EVENTS + sent,
    );
    const devtools = await context.newCDPSession(page);
    await devtools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await devtools.send("Runtime.getHeapUsage");
    figures.heap.push(usedSize / 1e6);
    console.log(
      `run ${run + 1}: first row ${Math.round(figures.paint.at(-1) ?? 0)} ms, slow frames ${figures.scroll.at(-1)?.toFixed(2)} % of ${scrolled.length} scrolling, ${figures.stream.at(-1)?.toFixed(2)} % of ${streamed.length} streaming (${Math.round(sent / STREAM_SECONDS)} events/s), ${Math.round(figures.heap.at(-1) ?? 0)} MB`,
    );
    await context.close();
  }
} finally {
  await browser.close();
}

const tell = (id: string, title: string, samples: readonly number[], limit: number, unit: string, note: string) => {
  const median = toPercentiles(samples).p50;
  report({
    id,
    title,
    ours: median,
    floor: null,
    ratio: null,
    target: `< ${limit} ${unit}`,
    met: median <= limit,
    n: samples.length,
    ...toPercentiles(samples),
    unit,
    note,
  });
};
const shared = `median of ${RUNS} runs; Chromium without GPU, 1280 x 800`;
tell("P7a", "30,000 events in Chromium: first row painted", figures.paint, 1_000, "ms", shared);
tell(
  "P7b",
  "30,000 events in Chromium: frames above 50 ms while scrolling",
  figures.scroll,
  1,
  "%",
  `${shared}; ${framesSeen} frames with those of P7c`,
);
tell(
  "P7c",
  "30,000 events in Chromium: frames above 50 ms at 1,000 events/s",
  figures.stream,
  1,
  "%",
  `${shared}; ${STREAM_SECONDS} s, followed to the end, all of them shown`,
);
tell("P7d", "30,000 events in Chromium: JavaScript heap", figures.heap, 300, "MB", `${shared}; after the stream`);
