/** drover recordings: what was seen in the terminals of a sandbox. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { printContent } from "../print-content.ts";
import type { Verb } from "../verb.ts";

const MS_PER_SECOND = 1_000;

export const recordings: Verb = {
  name: "recordings",
  summary: "List recordings of a sandbox's terminals, or print one.",
  usage: "<id> [recording]",
  isRemote: true,
  details: "A recording is asciicast v2; through a pipe it is exact, so that `asciinema play -` shows it.",
  flags: [],
  async run(context, args) {
    const [sandbox_id = "", artifact_id] = takePositionals(recordings, args, 1, 2);
    const client = connect(context, args);
    if (artifact_id !== undefined) {
      const params = { sandbox_id, artifact_id };
      await printContent(context, await client.getArtifact({ params }, { signal: context.signal }));
      return EXIT.ok;
    }
    const query = { limit: 100 };
    const page = await client.listRecordings({ params: { sandbox_id }, query }, { signal: context.signal });
    const now = context.now();
    printList(context, args, page, {
      header: ["AGE", "SECONDS", "RECORDING"],
      toRow: (one) => [
        toElapsed(one.recorded_at, now),
        String(Math.round(one.duration_ms / MS_PER_SECOND)),
        one.artifact_id,
      ],
      nothing: "Nobody has opened a terminal in it.",
    });
    return EXIT.ok;
  },
};
