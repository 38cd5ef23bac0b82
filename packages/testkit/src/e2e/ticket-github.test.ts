/** The ticket of five tasks at GitHub: through pages, failures, limits and thinking to a merged pull request, whose webhook closes the ticket. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_BASE } from "@drover/contract";
import { expect, test } from "vitest";
import {
  expectBothMerged,
  expectDelivered,
  layTests,
  layTicket,
  type Part,
  readTicketStatus,
} from "../counting-ticket.ts";
import { OWNER, startGitHub } from "../github/github-server.ts";
import { startTestServer } from "../server.ts";
import { listAttempts, loadTask } from "../work.ts";

const FACT_MS = 240_000;
const SECRET = "the secret of the webhooks";
const REPOSITORY = "sheep";

const PUSH =
  "git add -A && git -c user.name=agent -c user.email=agent@example.org commit -q -m work && git push -q origin HEAD";

const toConfig = ({ path, content }: Part) => ({
  runtime: "scripted",
  resources: { memory_gb: 0.5 },
  script: { steps: [{ edit: { path, content } }, { command: { argv: ["sh", "-c", PUSH] } }] },
});

test(
  "five tasks run by themselves at GitHub, whatever its mood, and the webhook of the merge closes the ticket",
  { timeout: 600_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "drover-github-"));
    try {
      await using github = await startGitHub(folder);
      await using server = await startTestServer({
        config: { heartbeatIntervalSeconds: 5, githubApiUrl: github.apiUrl, githubUrl: github.webUrl },
      });
      github.thinkAbout(2);
      // Seen while whoever merges still waits for GitHub's answer: it is the webhook that has closed the ticket by then.
      const seen: string[] = [];
      let ticketId = "";
      github.tellOf(`${server.url}${API_BASE}/github/webhooks`, SECRET, async (action) => {
        seen.push(`${action}: ${(await server.call("GET", `/tickets/${ticketId}`)).body.status}`);
      });
      const path = `/repos/${OWNER}/${REPOSITORY}`;
      const ticket = await layTicket(server, toConfig, {
        connect: async (projectId) => {
          const { gitDir } = await github.createRepository(REPOSITORY);
          layTests(gitDir);
          // More than a page of branches; whoever reads one page only does not see main.
          for (let at = 10; at < 35; at += 1)
            execFileSync("git", ["--git-dir", gitDir, "branch", `before-${at}`, "main"]);
          const body = { host: "github", owner: OWNER, name: REPOSITORY, token: github.token, webhook_secret: SECRET };
          const connected = await server.call("PATCH", `/projects/${projectId}/git`, { body });
          expect(connected.body).toMatchObject({ default_branch: "main", branches: { length: 26 } });
          // Each is met once on the way: the branch is made, the pull request opened, looked at and merged in spite of them.
          github.failNext(
            { status: 503, path: `${path}/git/refs` },
            { status: 429, headers: { "retry-after": "0" }, path: `${path}/branches` },
            { status: 502, path: `${path}/pulls` },
            { status: 500, path: `${path}/pulls/1` },
            { status: 429, headers: { "retry-after": "0" }, path: `${path}/pulls/1/merge` },
          );
          return gitDir;
        },
      });
      ticketId = ticket.id;
      const look = () => readTicketStatus(server, ticket);
      await expect.poll(look, { timeout: FACT_MS, interval: 200 }).toBe("done");

      for (const { id } of Object.values(ticket.tasks)) {
        expect(await loadTask(server, id)).toMatchObject({ status: "completed", retry_count: 0 });
        expect(await listAttempts(server, id)).toHaveLength(1);
      }
      await expectBothMerged(server, ticket);
      await expectDelivered(server, ticket);
      expect(github.webhooks).toEqual([
        { action: "opened", status: 200, answer: JSON.stringify({ status: "received" }) },
        { action: "closed", status: 200, answer: JSON.stringify({ status: "received" }) },
      ]);
      expect(seen).toEqual(["opened: building-done", "closed: done"]);
      expect(github.pendingFaults()).toEqual([]);
      expect(github.complaints).toEqual([]);
      expect([...github.seenCredentials]).toEqual([github.token]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
