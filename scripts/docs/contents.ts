/** The pages of the documentation site, in the order in which they are read. */
export interface Chapter {
  readonly title: string;
  readonly pages: readonly (readonly [file: string, title: string])[];
}

export const CHAPTERS: readonly Chapter[] = [
  {
    title: "Begin",
    pages: [
      ["QUICKSTART.md", "Quick start"],
      ["CONCEPTS.md", "Concepts"],
      ["PROMISES.md", "Promises"],
      ["WEB.md", "The web UI"],
      ["SECURITY.md", "Security"],
    ],
  },
  {
    title: "Agents",
    pages: [
      ["RUNTIMES.md", "Runtimes"],
      ["MODELS.md", "Models and money"],
      ["SUPERVISION.md", "Supervision"],
      ["GIT.md", "Git"],
    ],
  },
  {
    title: "Sandboxes",
    pages: [
      ["SANDBOXES.md", "Providers"],
      ["DAYTONA.md", "Daytona"],
      ["KUBERNETES.md", "Kubernetes"],
    ],
  },
  {
    title: "Programs",
    pages: [
      ["CLI.md", "Command line"],
      ["API.md", "HTTP API"],
      ["MCP.md", "MCP"],
      ["EVENTS.md", "Events"],
      ["WEBHOOKS.md", "Webhooks"],
      ["AGENT-SERVER.md", "Agent server"],
      ["HARNESS.md", "Direct runs"],
      ["ARCHIVE.md", "Archives"],
    ],
  },
  {
    title: "Run it",
    pages: [
      ["OPERATIONS.md", "Operations"],
      ["OPTIONS.md", "Options"],
    ],
  },
  {
    title: "Inside",
    pages: [
      ["ARCHITECTURE.md", "Architecture"],
      ["DECISIONS.md", "Decisions"],
      ["GLOSSARY.md", "Glossary"],
    ],
  },
];
