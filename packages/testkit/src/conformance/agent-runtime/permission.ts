/** Permissions: the agent asks, and waits for whoever may answer. */
import { PermissionPolicy } from "@drover/contract";
import { expect } from "vitest";
import type { Scenario } from "./scenario.ts";

/** No agent takes a program for harmless. */
const toWriter = (name: string) => `node -e 'fs.writeFileSync("${name}", "ran\\n")'`;

const askPerson = () => ({ permissionPolicy: PermissionPolicy.parse({ decision: "ask" }) });

export const PERMISSION: readonly Scenario[] = [
  {
    title: "a person allows",
    needs: ({ permissions }) => permissions,
    plan: () => ({ first: [{ run: toWriter("allowed.txt") }, { say: "Thank you." }], order: askPerson() }),
    play: async (run) => {
      await run.untilCount("agent.permission_requested");
      expect(run.has("allowed.txt")).toBe(false);
      run.answer("allow");
      await run.untilCount("agent.waiting");
    },
    promises: [
      {
        title: "the question stands behind the call it is about",
        keep: (run) => {
          const [question] = run.of("agent.permission_requested");
          expect(run.types.indexOf("agent.tool_use")).toBeLessThan(run.types.indexOf("agent.permission_requested"));
          expect(question?.["tool_use_id"]).toBe(run.of("agent.tool_use")[0]?.["tool_use_id"]);
          expect(JSON.stringify(question?.["input"])).toContain("allowed.txt");
        },
      },
      {
        title: "the tool runs after the answer",
        keep: async (run) => expect(await run.read("allowed.txt")).toBe("ran\n"),
      },
      {
        title: "the answer is told, with who gave it, and its message gets a receipt",
        keep: (run) => {
          expect(run.of("agent.permission_answered")).toMatchObject([{ decision: "allow", by: "person" }]);
          expect(run.receipts).toMatchObject([{ messageId: "msg-00000000ffff", status: "seen" }]);
        },
      },
    ],
  },
  {
    title: "a person refuses",
    needs: ({ permissions }) => permissions,
    plan: () => ({ first: [{ run: toWriter("refused.txt") }, { say: "As you wish." }], order: askPerson() }),
    play: async (run) => {
      await run.untilCount("agent.permission_requested");
      run.answer("deny");
      await run.until("an end", () => run.types.some((type) => /^agent\.(waiting|failed)$/.test(type)));
    },
    promises: [
      { title: "the tool does not run", keep: (run) => expect(run.has("refused.txt")).toBe(false) },
      {
        title: "the call is told as ended, in error",
        keep: (run) => expect(run.of("agent.tool_result")).toMatchObject([{ is_error: true }]),
      },
    ],
  },
  {
    title: "the policy refuses",
    needs: ({ permissions }) => permissions,
    plan: () => ({
      first: [{ run: toWriter("forbidden.txt") }, { say: "As the rules say." }],
      order: { permissionPolicy: PermissionPolicy.parse({ decision: "deny" }) },
    }),
    play: (run) => run.until("an end", () => run.types.some((type) => /^agent\.(waiting|failed)$/.test(type))),
    promises: [
      {
        title: "nobody is asked, and the tool does not run",
        keep: (run) => {
          expect(run.has("forbidden.txt")).toBe(false);
          expect(run.of("agent.permission_answered")).toMatchObject([{ decision: "deny", by: "policy" }]);
        },
      },
    ],
  },
];
