/** What this machine's browser can do at best: a page without a framework that reads the same events, holds a list of them and follows the
 *  same stream, with as many elements in view as the real page has. */
import type { Page } from "playwright-core";

/** Rows in view, and elements in each: the real feed holds about as many. */
const ROWS = 16;
const PARTS = 40;

const HTML = `<!doctype html><meta charset="utf-8"><title>bare</title>
<style>
  body { margin: 0; font: 13px sans-serif }
  #list { height: 800px; overflow-y: auto; position: relative }
  #tall { position: relative }
  article { position: absolute; left: 0; right: 0; height: 60px; overflow: hidden }
</style>
<div id="list"><div id="tall"></div></div>
<script src="/bare.js"></script>`;

/** Runs in the page. */
function runBarePage(sandboxId: string, rows: number, parts: number): void {
  const list = document.getElementById("list");
  const tall = document.getElementById("tall");
  if (list === null || tall === null) return;
  const texts: string[] = [];
  let isFollowing = true;
  const draw = () => {
    tall.style.height = `${texts.length * 60}px`;
    if (isFollowing) list.scrollTop = list.scrollHeight;
    const from = Math.max(0, Math.floor(list.scrollTop / 60) - 1);
    const next = document.createDocumentFragment();
    for (let n = from; n < Math.min(texts.length, from + rows); n += 1) {
      const row = document.createElement("article");
      row.style.top = `${n * 60}px`;
      for (let part = 0; part < parts; part += 1) {
        const span = document.createElement("span");
        span.textContent = part === 0 ? (texts[n] ?? "") : ` ${n + part}`;
        row.append(span);
      }
      next.append(row);
    }
    tall.replaceChildren(next);
  };
  list.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  list.addEventListener("wheel", () => (isFollowing = false), { passive: true });
  addEventListener("keydown", () => {
    isFollowing = true;
    draw();
  });
  const take = (events: readonly { readonly event_type: string }[]) => {
    for (const event of events) texts.push(JSON.stringify(event).slice(0, 120));
    document.body.dataset["rows"] = String(texts.length);
  };
  void (async () => {
    let before = "";
    for (;;) {
      const reply = await fetch(
        `/api/v1/sandboxes/${sandboxId}/events?order=desc&limit=${before === "" ? 80 : 500}${before}`,
      );
      const page = (await reply.json()) as {
        events: { event_type: string; seq: number }[];
        has_more: boolean;
        last_seq: number;
      };
      take(page.events);
      if (before === "") {
        draw();
        const socket = new WebSocket(
          `ws://${location.host}/api/v1/ws/events?entity_types=sandbox&entity_ids=${sandboxId}&after_seq=${page.events[0]?.seq ?? 0}`,
        );
        let isDue = false;
        let seq = 0;
        socket.addEventListener("message", ({ data }) => {
          const frame = JSON.parse(String(data)) as { type: string; event_type: string; seq: number };
          if (frame.type !== "event") return;
          take([frame]);
          seq = frame.seq;
          if (isDue) return;
          isDue = true;
          setTimeout(() => {
            isDue = false;
            // Or the server holds back.
            socket.send(JSON.stringify({ type: "ack", seq }));
            requestAnimationFrame(draw);
          }, 184);
        });
      }
      const oldest = page.events.at(-1);
      if (!page.has_more || oldest === undefined) return;
      before = `&before_seq=${oldest.seq}`;
    }
  })();
}

/** Puts the bare page at an address of the same origin, and goes there. */
export async function openBarePage(page: Page, origin: string, sandboxId: string): Promise<void> {
  await page.route(`${origin}/bare`, (route) => route.fulfill({ contentType: "text/html", body: HTML }));
  await page.route(`${origin}/bare.js`, (route) =>
    route.fulfill({
      contentType: "text/javascript",
      body: `(${runBarePage.toString()})(${JSON.stringify(sandboxId)}, ${ROWS}, ${PARTS})`,
    }),
  );
  await page.goto(`${origin}/bare`);
}
