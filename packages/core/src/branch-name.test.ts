/** Names of branches and pull requests, by the table, and back. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isBranchName,
  parseTicketRef,
  toHeadName,
  toPullBody,
  toPullTitle,
  toTaskBranch,
  toTicketBranch,
} from "./branch-name.ts";

const id = "0d9e6a52-9a3e-4a5f-8f43-0c2f0b8f6a11";

describe("a ticket's branch", () => {
  test.for([
    ["feature", null, "Add a parser", `feature/${id}-add-a-parser`],
    ["bug", null, "Crash on start!", `fix/${id}-crash-on-start`],
    ["bug", "critical", "Crash on start", `hotfix/${id}-crash-on-start`],
    ["Bug", "CRITICAL", "Crash", `hotfix/${id}-crash`],
    ["bug", "HIGH", "Crash", `fix/${id}-crash`],
    ["hotfix", null, "Crash", `hotfix/${id}-crash`],
    ["refactor", null, "Tidy up", `refactor/${id}-tidy-up`],
    ["docs", null, "Tell", `docs/${id}-tell`],
    ["test", null, "Try", `test/${id}-try`],
    ["chore", "critical", "Sweep", `chore/${id}-sweep`],
    ["epic", null, "Grand", `feature/${id}-grand`],
    ["__proto__", null, "Odd", `feature/${id}-odd`],
    [null, null, "Plain", `feature/${id}-plain`],
    [null, "CRITICAL", "Plain", `hotfix/${id}-plain`],
    [null, "HIGH", "A bug in the barn", `fix/${id}-a-bug-in-the-barn`],
    [null, null, "Bugs: none", `fix/${id}-bugs-none`],
    [null, null, "Debug the bugle", `feature/${id}-debug-the-bugle`],
    ["feature", null, "Calculate the binomial coefficient fast", `feature/${id}-calculate-the-binomial-co`],
    ["feature", null, "Twenty five characters - and", `feature/${id}-twenty-five-characters-an`],
    ["feature", null, "  --Über   die Größe--  ", `feature/${id}-uber-die-groe`],
    ["feature", null, "日本語", `feature/${id}`],
    ["feature", null, "$(rm -rf /); `x`", `feature/${id}-rm-rf-x`],
  ] as const)("%s %s %s", ([ticket_type, priority, title, name]) => {
    expect(toTicketBranch({ id, title, ticket_type, priority }, new Set())).toBe(name);
  });

  test("a name that is taken gets a number", () => {
    const first = toTicketBranch({ id, title: "A" }, new Set());
    const second = toTicketBranch({ id, title: "A" }, new Set([first]));
    expect(second).toBe(`${first}-2`);
    expect(toTicketBranch({ id, title: "A" }, new Set([first, second]))).toBe(`${first}-3`);
  });

  test("whatever the title, the name is one that Git takes and the ticket is found in it", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.string({ unit: "grapheme", maxLength: 80 }), fc.string(), (ticket, title, type) => {
        const name = toTicketBranch({ id: ticket, title, ticket_type: type }, new Set());
        const slug = name.slice(name.indexOf("/") + 1 + ticket.length);
        expect(slug.length).toBeLessThanOrEqual(26);
        expect(isBranchName(name)).toBe(true);
        expect(isBranchName(toTaskBranch(name, ticket))).toBe(true);
        expect(parseTicketRef(name)).toBe(ticket);
        expect(parseTicketRef(toPullTitle(ticket, title))).toBe(ticket);
        expect(parseTicketRef("", toPullBody(ticket, title))).toBe(ticket);
      }),
    );
  });
});

describe("a ticket is found", () => {
  test.for([
    [`[${id}] Add a parser`, id],
    [`[ticket-${id}] Add a parser`, id],
    [`text\n\nCloses #${id}.`, id],
    [`fixes ticket-${id}`, id],
    [`feature/${id}-add`, id],
    [`see ticket-${id.toUpperCase()}`, id],
    ["Closes #17", undefined],
    [`${id}0`, undefined],
    ["", undefined],
  ] as const)("%s", ([text, found]) => {
    expect(parseTicketRef(text)).toBe(found);
  });
});

test.for([
  ["feature/a-b.c", true],
  ["a", true],
  ["", false],
  ["-a", false],
  ["a..b", false],
  ["a//b", false],
  ["a/.b", false],
  ["a.lock", false],
  ["a.lock/b", false],
  ["a/", false],
  ["a b", false],
  ["a\u0000b", false],
  ["a~1", false],
  ["a^", false],
  ["a:b", false],
  ["a@{1}", false],
  ["HEAD", false],
] as const)("%s is a branch's name: %s", ([name, is]) => {
  expect(isBranchName(name)).toBe(is);
});

const toEnd = (owner: string, repo = "sheep") => ({
  ref: "main",
  label: `${owner}:main`,
  repo: { full_name: `${owner}/${repo}` },
});
test.for([
  ["of the repository itself", toEnd("herd"), "main"],
  ["of a copy", toEnd("stranger"), "stranger/sheep:main"],
  ["of a copy of the same owner", toEnd("herd", "goats"), "herd/goats:main"],
  ["of a copy that is gone", { ...toEnd("stranger"), repo: null }, "stranger:main"],
  ["of a copy and an owner that are gone", { ref: "main", label: null, repo: null }, "unknown:main"],
  ["of which only the label is told", { ref: "main", label: "stranger:main" }, "stranger:main"],
  ["of which nothing more is told", { ref: "main" }, "main"],
] as const)("a head %s", ([, head, name]) => {
  expect(toHeadName(head, toEnd("herd"))).toBe(name);
  expect(isBranchName(name)).toBe(!name.includes(":"));
});
