/** What the scripted agent plays when nobody gave it a script: about a minute of believable work, for the first look. */
import { parseScript } from "./script.ts";

const FIRST_TRY = `/** Number of ways to choose k of n things. */
export function binomial(n, k) {
  return factorial(n) / (factorial(k) * factorial(n - k));
}

function factorial(n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

if (process.argv[1] === import.meta.filename) {
  for (let n = 0; n <= 8; n++) {
    const row = Array.from({ length: n + 1 }, (_, k) => String(binomial(n, k)));
    console.log(" ".repeat((8 - n) * 2) + row.map((value) => value.padStart(4)).join(""));
  }
}
`;

const TESTS = `import assert from "node:assert/strict";
import { test } from "node:test";
import { binomial } from "./binomial.mjs";

test("the edges are one", () => {
  assert.equal(BigInt(binomial(10, 0)), 1n);
  assert.equal(BigInt(binomial(10, 10)), 1n);
});

test("each number is the sum of the two above", () => {
  assert.equal(BigInt(binomial(8, 3)), BigInt(binomial(7, 2)) + BigInt(binomial(7, 3)));
});

test("large numbers are exact", () => {
  assert.equal(BigInt(binomial(60, 30)), 118264581564861424n);
});
`;

const NAIVE = `export function binomial(n, k) {
  return factorial(n) / (factorial(k) * factorial(n - k));
}

function factorial(n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}
`;

const EXACT = `export function binomial(n, k) {
  if (k < 0 || k > n) return 0n;
  let result = 1n;
  for (let i = 1n; i <= BigInt(Math.min(k, n - k)); i++) {
    // Divides without remainder: after i steps the product is itself a binomial coefficient.
    result = (result * (BigInt(n) - i + 1n)) / i;
  }
  return result;
}
`;

const README = `# Binomial coefficients

\`binomial(n, k)\` counts the ways to choose k of n things. It is exact for any size.

    node binomial.mjs      # Pascal's triangle
    node --test            # the tests
`;

const todo = (...done: ("pending" | "in_progress" | "completed")[]) => ({
  todo: ["Look at the workspace", "Write binomial.mjs", "Write tests", "Make the tests pass", "Document it"].map(
    (content, index) => ({
      content,
      status: done[index] ?? "pending",
    }),
  ),
});

export const DEMO_SCRIPT = parseScript({
  name: "demo",
  steps: [
    { wait: 1 },
    {
      text: "I'll write a small module that computes **binomial coefficients**, with tests, and run everything to be sure it works.\n\nPlan:\n1. look at the workspace\n2. write `binomial.mjs`\n3. write tests\n4. run them and fix what fails\n5. document it",
    },
    { wait: 1.5 },
    todo("in_progress"),
    { wait: 1 },
    { command: { argv: ["ls", "-la"], timeout: 30 } },
    { wait: 2 },
    {
      thinking:
        "Plain ES modules and Node's built-in test runner are enough here; no dependency is needed. The textbook formula n! / (k! (n-k)!) is the obvious start. I should check it with a value that does not fit in a double.",
    },
    { wait: 2.5 },
    todo("completed", "in_progress"),
    { wait: 1.5 },
    { edit: { path: "binomial.mjs", content: FIRST_TRY } },
    { wait: 2 },
    { text: "First version is written. Let me print Pascal's triangle with it." },
    { wait: 1 },
    { command: { argv: ["node", "binomial.mjs"], timeout: 30 } },
    { wait: 2.5 },
    todo("completed", "completed", "in_progress"),
    { wait: 1 },
    { edit: { path: "binomial.test.mjs", content: TESTS } },
    { wait: 1.5 },
    { command: { argv: ["node", "--test", "--test-reporter=spec", "binomial.test.mjs"], timeout: 60 } },
    { wait: 2.5 },
    { turn: "next" },
    {
      thinking:
        "Two of three pass. `binomial(60, 30)` is wrong: 60! is far above 2^53, so the factorials lose digits and the quotient is off. Multiplying and dividing step by step with BigInt keeps every intermediate value an integer.",
    },
    { wait: 3 },
    {
      text: "The test for large numbers fails: the factorials do not fit in a double. I'll switch to an exact, multiplicative form with `BigInt`.",
    },
    { wait: 1.5 },
    todo("completed", "completed", "completed", "in_progress"),
    { wait: 1 },
    { tool_use: { name: "Read", input: { file_path: "binomial.mjs" }, result: FIRST_TRY, seconds: 0.6 } },
    { wait: 1.5 },
    { edit: { path: "binomial.mjs", find: NAIVE, replace: EXACT } },
    { wait: 2 },
    { command: { argv: ["node", "--test", "--test-reporter=spec", "binomial.test.mjs"], timeout: 60 } },
    { wait: 2 },
    { command: { argv: ["node", "binomial.mjs"], timeout: 30 } },
    { wait: 2 },
    todo("completed", "completed", "completed", "completed", "in_progress"),
    { wait: 1 },
    { edit: { path: "README.md", content: README } },
    { wait: 1.5 },
    todo("completed", "completed", "completed", "completed", "completed"),
    { wait: 1 },
    { turn: "next" },
    {
      text: "Done: `binomial.mjs` is exact for any size, **3 of 3 tests pass**, and the README says how to run it.\n\nAnything else? Write to me: I answer while I wait.",
    },
    { wait_for_message: { seconds: 20, text: "Anything else?" } },
  ],
  on_message: [
    {
      when: "test",
      steps: [
        { text: "You wrote: “{{message}}”. I'll run the tests again." },
        { wait: 0.8 },
        { command: { argv: ["node", "--test", "--test-reporter=spec"], timeout: 60 } },
        { wait: 0.5 },
        { text: "That is what the tests say now." },
      ],
    },
    { when: "thank", steps: [{ wait: 0.6 }, { text: "You're welcome." }] },
    {
      steps: [
        { wait: 0.6 },
        {
          thinking: "A message came in while I was working. It stands in my next step, so I answer it before I go on.",
        },
        { wait: 0.6 },
        {
          text: "You wrote: “{{message}}”\n\nI am the scripted demo agent, so I play a script and cannot act on it. But your message took the real way: queued, delivered, and seen in turn {{turn}}. Ask me to run the *tests* and I will.",
        },
      ],
    },
  ],
});
