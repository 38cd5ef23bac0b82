import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { createClient } from "../create-client.ts";
import { DroverProvider, useEntityEvents, useEvents, useEventTypes, useSandbox } from "./index.ts";

const client = createClient({ baseUrl: "http://drover.test" });

function Page() {
  const feeds = [useEvents(), useEntityEvents("sandbox", "drover-00000001-00000a"), useEventTypes(["STATE_CHANGED"])];
  const { state, log, messages, sandbox } = useSandbox("drover-00000001-00000a");
  const phases = [...feeds.map((feed) => feed.state.phase), state.phase];
  return createElement(
    "p",
    null,
    JSON.stringify({ phases, events: log.events, messages, hasSandbox: sandbox !== undefined }),
  );
}

test("hooks render before anything is known, and open nothing until they are mounted", () => {
  const html = renderToString(createElement(DroverProvider, { client }, createElement(Page)));
  const shown: unknown = JSON.parse(html.replaceAll(/<[^>]*>/g, "").replaceAll("&quot;", '"'));
  const phases = ["connecting", "connecting", "connecting", "connecting"];
  expect(shown).toEqual({ phases, events: [], messages: [], hasSandbox: false });
});

test("hooks outside the provider say what is missing", () => {
  expect(() => renderToString(createElement(Page))).toThrow(/DroverProvider/);
});
