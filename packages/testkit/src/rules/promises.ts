/** What Drover promises, which tests fail when it is broken, and a figure of it. `docs/PROMISES.md` is written from here. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A file below `packages`, and the beginning of a test's title in it, as it is written there. */
type Proof = readonly [file: string, title: string];

export interface ProductPromise {
  readonly name: string;
  readonly sentence: string;
  readonly proofs: readonly Proof[];
  /** A figure in words; `quote` stands in `page`, so that it is changed there together with this. */
  readonly figure: { readonly says: string; readonly page: string; readonly quote: string };
}

const CLAUDE_RUN = "testkit/src/agents/claude-run.test.ts";
const RESUMED_RUN = "testkit/src/e2e/resumed-run.test.ts";
const GIT_ENDPOINT = "server/src/http/git-endpoint.test.ts";
const REPLAY = "testkit/src/browser/replay.test.ts";
const BUDGETS = "server/src/app/spend-budgets.test.ts";
const STATES = "server/src/app/work-states.test.ts";

export const PROMISES: readonly ProductPromise[] = [
  {
    name: "Nothing is lost, nothing comes twice",
    sentence:
      "Every event that a worker accepted reaches the store and every subscriber exactly once, in order, whichever of worker, server, database and browser is killed.",
    proofs: [
      [
        "testkit/src/chaos/kills.test.ts",
        "what a worker accepted reaches the store and every subscriber once, in order",
      ],
      [
        "testkit/src/chaos/in-flight.test.ts",
        "an event whose statement was in flight when the server died is stored once",
      ],
      ["testkit/src/chaos/replicas.test.ts", "replicas die under load: nothing is lost, nothing comes twice"],
      [
        "testkit/src/delivery/delivery.test.ts",
        "every subscriber gets each committed matching event after its cursor once",
      ],
      [
        "testkit/src/browser/live-feed.test.ts",
        "a server that is killed and restarted in the middle of a run costs no event",
      ],
      ["worker/src/outbox.test.ts", "a death at any byte of any write loses nothing accepted"],
    ],
    figure: {
      says: "two replicas under load, killed six times: 4,579 events, each once and in order at every subscriber",
      page: "bench/RESULTS.md",
      quote: "4,579 events, each once and in order at every",
    },
  },
  {
    name: "Steering lands in the turn that runs",
    sentence:
      "A message reaches the model in its next request, with a receipt (queued, delivered, seen). An interrupt stops the turn and keeps the session.",
    proofs: [
      [CLAUDE_RUN, "a message sent while a tool runs is in the model's next request, and its receipt says so"],
      ["testkit/src/conformance/agent-runtime/steer.ts", "it stands in the model's next request"],
      ["testkit/src/conformance/agent-runtime/interrupt.ts", "the next message is the next turn of the same session"],
      ["server/src/http/gateway-streams.test.ts", "a message that was handed out is seen once it stands in a request"],
      ["testkit/src/browser/messages.test.ts", "a message is shown at once and goes from queued to delivered to seen"],
    ],
    figure: {
      says: "from the request of a message to the agent's input, while a tool runs: 34.6 ms at p99",
      page: "bench/RESULTS.md",
      quote: "while a tool runs (p99) | 34.6 ms",
    },
  },
  {
    name: "No secret enters a sandbox",
    sentence:
      "Model calls go through the gateway with a token that names one sandbox. Git goes through an endpoint that lets that sandbox push to its own branch only.",
    proofs: [
      [
        CLAUDE_RUN,
        "C(50,25) is computed in a local sandbox: two edits, completed, heartbeats, usage; and no key inside",
      ],
      ["server/src/http/gateway-refusals.test.ts", "no key is in any answer, event, log line or page"],
      ["server/src/http/gateway-refusals.test.ts", "only a sandbox's own credential of the present generation passes"],
      [GIT_ENDPOINT, "fetches its project and pushes to its own branch, seen and told by the server"],
      [GIT_ENDPOINT, "is refused everywhere else, in Git's own words, and works on"],
      ["testkit/src/hostile/attack-gate.ts", "no token lies inside"],
    ],
    figure: {
      says: "the gateway that keeps the keys adds 3.5 ms to the first byte of an answer, at p50",
      page: "bench/RESULTS.md",
      quote: "3.5 ms more at p50",
    },
  },
  {
    name: "A sandbox reaches what its policy allows, and nothing else",
    sentence: "Files, processes and network are isolated, and what is really enforced is shown.",
    proofs: [
      ["testkit/src/hostile/reach-host.ts", "the host's /etc/shadow, homes, temporary files and data are not there"],
      [
        "testkit/src/hostile/escape-egress.ts",
        "metadata, loopback, private, mapped and translated addresses are refused",
      ],
      ["testkit/src/hostile/exhaust.ts", "nothing outlives destroy"],
      ["testkit/src/hostile/docker.test.ts", "more than forty attacks are tried, and each has a name of its own"],
      [
        "server/src/adapters/local/self-test.test.ts",
        "a bubblewrap that isolates nothing is found out before a sandbox is made",
      ],
      ["testkit/src/conformance/sandbox/limits.ts", "info tells the limits, who enforces them, and what is used"],
    ],
    figure: {
      says: "sixty attacks from inside, tried in local sandboxes and in containers; none succeeds",
      page: "docs/SECURITY.md",
      quote: "sixty attacks",
    },
  },
  {
    name: "The status is true",
    sentence:
      "One table of states for sandboxes and one for tasks. A reconciler compares them with the provider, and a generation fences late writers.",
    proofs: [
      [STATES, "takes the steps of its row, tells of each, and refuses all others"],
      [STATES, "goes where its row says, and stays where it is otherwise"],
      ["server/src/app/ack-message.test.ts", "a message that is %s, then %s"],
      [
        "server/src/app/ingest-events.test.ts",
        "a worker that was replaced adds late events, which change nothing else",
      ],
      ["testkit/src/e2e/server-killed.test.ts", "twenty sandboxes survive a server that is killed"],
      ["server/src/app/prune-sandboxes.test.ts", "removes completed sandboxes and strays, and nothing that works"],
    ],
    figure: {
      says: "four tables; every cell of them, allowed or not, is tried through the real store",
      page: "docs/ARCHITECTURE.md",
      quote: "A cell that is not there is refused and changes nothing",
    },
  },
  {
    name: "Resuming is honest",
    sentence: "Each resume says what it restored: `native`, `reseeded` or `fresh`.",
    proofs: [
      [RESUMED_RUN, "killed in the middle of a tool, a run goes on in a new sandbox with its files and its memory"],
      [RESUMED_RUN, "an agent of another make gets the files and a summary"],
      [RESUMED_RUN, "the next generation goes on with what the last one left, and is told again what nobody has read"],
      ["testkit/src/agents/claude-resume.test.ts", "killed in the middle of a tool, Claude goes on in a new sandbox"],
      [REPLAY, "a fork from a moment says what it keeps, and has the files of then"],
    ],
    figure: {
      says: "of 62 promises of the suite of runtimes Claude keeps 62, restarts in the middle of a tool among them",
      page: "docs/RUNTIMES.md",
      quote: "| `claude` | 62 of 62 |",
    },
  },
  {
    name: "The supervisor is trustworthy",
    sentence:
      "It uses measured signals first and a model second. Each verdict cites events, and when the model fails there is none. Its precision is measured on recorded runs.",
    proofs: [
      ["testkit/src/guardian/evaluate.test.ts", "each signal is precise and finds what it should"],
      ["testkit/src/guardian/evaluate.test.ts", "precision and recall hold on runs that nobody has seen before"],
      ["server/src/app/judge-run.test.ts", "a verdict that cites what it was not shown changes nothing"],
      ["testkit/src/e2e/supervised-run.test.ts", "a judge that is away for an hour changes nothing"],
      ["testkit/src/e2e/supervised-run.test.ts", "a build of forty minutes whose worker beats is left alone"],
    ],
    figure: {
      says: "on 252 recorded runs: precision 1.00, recall 0.99, no healthy run disturbed",
      page: "bench/GUARDIAN.md",
      quote: "All signs: precision 1.00, recall 0.99.",
    },
  },
  {
    name: "Any moment can be seen again",
    sentence: "A scrubber shows feed, terminal, files, diff and cost at any event, and a run can be forked from there.",
    proofs: [
      [REPLAY, "at twenty moments the files shown equal git's at the checkpoint, byte for byte"],
      [REPLAY, "the film plays at the speed that was chosen and stops at its end"],
      ["contract/src/views/replay.test.ts", "any moment equals the fold of what had happened by then"],
      ["testkit/src/e2e/checkpoints.test.ts", "a moment of a run is one answer"],
      [RESUMED_RUN, "a fork goes on from any place of the log, with the files of then"],
    ],
    figure: {
      says: "any of 30,003 events in one request: 38.9 ms at p95",
      page: "bench/RESULTS.md",
      quote: "as of any of 30,003 events, one request | 38.9 ms",
    },
  },
  {
    name: "Money stops at the limit",
    sentence: "Cost is metered at the gateway. A budget that is used up pauses the run and asks.",
    proofs: [
      [BUDGETS, "a budget of one cent stops a run within one call, pauses it, and asks; raised, it goes on"],
      [BUDGETS, "calls at the same time do not spend more than there is"],
      [BUDGETS, "a model without a price has no cost that anybody is told, and still cannot break a budget"],
      ["server/src/http/gateway-streams.test.ts", "$name: who hangs up in the middle has still used what was said"],
      ["testkit/src/agents/claude-budget.test.ts", "a run whose budget is used up is paused"],
    ],
    figure: {
      says: "a limit is overrun by at most the calls under way: one cent stops a run within one call",
      page: "docs/MODELS.md",
      quote: "a limit is overrun by at most the calls under way",
    },
  },
  {
    name: "It starts in a minute",
    sentence:
      "`npm ci && npm start`: embedded PostgreSQL, local sandboxes, a scripted demo agent that needs no key, and the page. Set a key, and the same page runs real agents.",
    proofs: [
      ["cli/src/up.test.ts", "says when it is ready, leaves a credential while it runs, and stops cleanly"],
      ["testkit/src/e2e/demo-run.test.ts", "the demo runs to its end on the page"],
      ["server/src/adapters/model-cassette.test.ts", "a run is answered from its recording, and costs nobody anything"],
      ["testkit/src/e2e/docs-commands.test.ts", "the commands of %s work as they stand"],
    ],
    figure: {
      says: "in a fresh clone installed in 40 s, built and ready 13 s later; first start alone 2.9 s",
      page: "docs/QUICKSTART.md",
      quote: "`npm ci` took 40 s",
    },
  },
];

/** A title may be written as a string or a template, and end there or go on. */
const stands = (text: string, title: string): boolean => ['"', "`", "'"].some((mark) => text.includes(mark + title));

/** What a promise names and nobody finds: a test that was renamed or removed, a figure that was changed. */
export function findBrokenProofs(root: string, promises = PROMISES): readonly string[] {
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "");
  return promises.flatMap(({ name, proofs, figure }) => [
    ...(proofs.length === 0 ? [`"${name}" has no test`] : []),
    ...proofs
      .filter(([file, title]) => !stands(read(join("packages", file)), title))
      .map(([file, title]) => `"${name}": packages/${file} has no test "${title}"`),
    ...(read(figure.page).includes(figure.quote) ? [] : [`"${name}": ${figure.page} does not say "${figure.quote}"`]),
  ]);
}

export function toPromisesPage(): string {
  const sections = PROMISES.flatMap(({ name, sentence, proofs, figure }, index) => [
    `## ${index + 1}. ${name}`,
    "",
    sentence,
    "",
    `Figure: ${figure.says} (\`${figure.page}\`).`,
    "",
    ...proofs.map(([file, title]) => `- ${title.replaceAll(/%s|\$name: /g, "")} (\`packages/${file}\`)`),
    "",
  ]);
  return [
    "# Promises",
    "",
    "Written by `npm run gen` from `packages/testkit/src/rules/promises.ts`. Each promise has tests that fail when it is broken, named here by the",
    "beginning of their titles, and a figure. A test notices when one of them is gone.",
    "",
    ...sections,
  ].join("\n");
}
