/** One task as a conversation with an agent server; what it says is told as a worker of ours would tell it. */
import { randomUUID } from "node:crypto";
import { AppError, toEventData, type EventId, type SandboxId } from "@drover/contract";
import {
  ConversationInfo,
  followConversation,
  OpenHandsEvent,
  startFollowing,
  toLifecycle,
} from "@drover/contract/openhands";
import { openConversationSource } from "@drover/server/sandbox";
import { EXECUTE_LIMIT_MS, type Executor, type RunEvent, type RunResult } from "./run-result.ts";
import { NEVER } from "./workspace.ts";

const LOOK_MS = 200;
const TIME_LIMIT_MS = 30_000;

export interface RemoteExecutorOptions {
  readonly url: string;
  readonly key?: string | undefined;
  /** On the agent server's machine. */
  readonly directory: string;
  readonly llm: {
    readonly model: string;
    readonly api_key?: string | undefined;
    readonly base_url?: string | undefined;
  };
}

export function createRemoteExecutor(options: RemoteExecutorOptions): Executor {
  const base = options.url.replace(/\/+$/, "");
  const source = openConversationSource(base, options.key);
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(base + path, {
      method,
      headers: {
        "content-type": "application/json",
        ...(options.key === undefined ? {} : { "x-session-api-key": options.key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.timeout(TIME_LIMIT_MS),
    });
    if (!answer.ok)
      throw new AppError(
        "sandbox.rejected",
        `the agent server answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`,
      );
    return ConversationInfo.parse(await answer.json());
  };

  return {
    execute: async (task, { timeoutMs = EXECUTE_LIMIT_MS, signal = NEVER, onEvent } = {}): Promise<RunResult> => {
      const made = await ask("POST", "/api/conversations", {
        agent: {
          discriminator: "Agent",
          kind: "Agent",
          llm: options.llm,
          tools: [{ name: "TerminalTool" }, { name: "FileEditorTool" }],
        },
        workspace: { working_dir: options.directory },
        initial_message: { role: "user", content: [{ type: "text", text: task }], run: true },
      });
      const id = made.id ?? made.conversation_id;
      if (id === undefined) throw new AppError("sandbox.rejected", "the agent server began no conversation");
      const path = `/api/conversations/${id}`;
      const sandboxId = `conversation-${id}`;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      let followed = startFollowing();
      let last: string | null = null;
      let count = 0;
      let end: Pick<RunResult, "status" | "detail"> | undefined;

      const tell = (event_type: string, data: Readonly<Record<string, unknown>>) => {
        count += 1;
        const stored: RunEvent = {
          id: randomUUID() as EventId,
          seq: count,
          sandbox_seq: count,
          sandbox_id: sandboxId as SandboxId,
          task_id: null,
          event_type,
          event_data: toEventData(data),
          source: "agent",
          created_at: new Date().toISOString(),
          client_event_id: null,
          generation: 1,
          caused_by: null,
        };
        if (event_type === "agent.failed") end = { status: "failed", detail: String(data["error"]) };
        if (event_type === "agent.completed") end = { status: "completed", detail: String(data["final_output"]) };
        onEvent?.(stored);
      };
      const read = async () => {
        for (;;) {
          const page = (await source.listAfter(id, last, NEVER)) ?? [];
          if (page.length === 0) return;
          for (const one of page) {
            const event = OpenHandsEvent.parse(one);
            const step = followConversation(followed, event, id);
            followed = step.state;
            last = event.id;
            for (const { event_type, event_data } of step.events) tell(event_type, event_data);
          }
        }
      };

      for (;;) {
        await read();
        if (end !== undefined || limit.aborted) break;
        const { execution_status: status } = await ask("GET", path);
        // Paused by somebody else: nothing more comes by itself.
        if (toLifecycle(status) === "interrupted") end = { status: "cancelled", detail: "paused at the agent server" };
        else await new Promise<void>((done) => void setTimeout(done, LOOK_MS));
      }
      if (end === undefined) {
        await ask("POST", `${path}/interrupt`).catch(() => undefined); // it may have ended by itself meanwhile
        await read().catch(() => undefined);
        end ??= signal.aborted
          ? { status: "cancelled", detail: "cancelled" }
          : { status: "timed_out", detail: `not done within ${timeoutMs} ms` };
      }
      const { cost } = await ask("GET", path);
      return {
        ...end,
        event_count: count,
        cost: typeof cost === "number" ? cost : null,
        sandbox_id: sandboxId,
        conversation_id: id,
      };
    },
  };
}
