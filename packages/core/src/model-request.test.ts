import { expect, test } from "vitest";
import { createUsageFilter } from "./model-request.ts";

test.for(["\n", "\r\n"])(
  "usage that was not asked for is taken out of a stream, event by event, with line end %j",
  (end) => {
    const filter = createUsageFilter();
    const said = `data: {"choices":[{"delta":{"content":"hi"}}]}${end}${end}`;
    const used = `data: {"choices":[],"usage":{"prompt_tokens":1}}${end}${end}`;
    const done = `data: [DONE]${end}${end}`;
    // Passed on at once, not at the end of the answer.
    expect(filter.take(said)).toBe(said);
    expect(filter.take(used.slice(0, 20))).toBe("");
    expect(filter.take(used.slice(20) + said + done)).toBe(said + done);
    const coming = said.replace("}]}", '}],"usage":null}').replace("hi", '\\",\\"usage\\":null}');
    expect(filter.take(coming)).toBe(coming.replace(',"usage":null}', "}"));
    expect(filter.take("data: half")).toBe("");
    expect(filter.end()).toBe("data: half");
  },
);
