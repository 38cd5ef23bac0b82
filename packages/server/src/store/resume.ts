/** What the log says that a run can be gone on with. */
import type { JsonObject, SandboxId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;

const Row = z.object({ seq: z.number(), event_data: z.unknown() });

/** The newest first: a chain ends at its first piece. */
export const listTranscripts = query(
  "events.list_transcripts",
  Row,
  [SAMPLE_ID, 1],
  (sandboxId: SandboxId, atSeq: number) => sql`
  select seq, event_data from events
  where sandbox_id = ${sandboxId} and event_type = 'agent.transcript_saved' and seq <= ${atSeq}
  order by seq desc limit 20000`,
);

/** Whether anything of a run was kept that another could go on with. */
export const loadKept = query(
  "events.load_kept",
  z.object({ transcript: z.boolean(), checkpoint: z.boolean() }),
  [SAMPLE_ID],
  (sandboxId: SandboxId) => sql`
  select exists (select 1 from events where sandbox_id = ${sandboxId} and event_type = 'agent.transcript_saved') as transcript,
    exists (select 1 from events where sandbox_id = ${sandboxId} and event_type = 'workspace.checkpoint') as checkpoint`,
);

const TELLING = [
  "agent.message",
  "agent.message_injected",
  "agent.tool_use",
  "agent.file_edited",
  "agent.completed",
  "agent.failed",
  "agent.interrupted",
];

/** What a summary is made of, the newest first. */
export const listTelling = query(
  "events.list_telling",
  z.object({ event_type: z.string(), event_data: z.unknown() }),
  [SAMPLE_ID, 1, 100],
  (sandboxId: SandboxId, atSeq: number, limit: number) => sql`
  select event_type, event_data from events
  where sandbox_id = ${sandboxId} and event_type = any(${TELLING}::text[]) and seq <= ${atSeq}
  order by seq desc limit ${limit}`,
);

/** The next generation goes on with what this one left. */
export const noteResumeFromItself = command(
  "sandboxes.note_resume_from_itself",
  [SAMPLE_ID],
  (id: SandboxId) =>
    sql`update sandboxes set spec = spec - 'resume' - 'resume_at_seq' - 'resume_prompt' || jsonb_build_object('resume_from', id)
      where id = ${id}`,
);

/** The old worker died before it could say so, but what it left remembers these: they are not to be told again. */
export const settleRemembered = command(
  "messages.settle_remembered",
  [SAMPLE_ID],
  (sandboxId: SandboxId) => sql`
  update messages m set state = 'seen', delivered_at = coalesce(delivered_at, now()), seen_at = now(), ended_at = now()
  where m.sandbox_id = ${sandboxId} and m.state in ('leased', 'delivered') and exists (
    select 1 from events e where e.sandbox_id = m.sandbox_id and e.event_type = 'agent.message_injected'
      and e.event_data ->> 'message_id' = m.id and e.seq < (
        select max(s.seq) from events s where s.sandbox_id = m.sandbox_id and s.event_type = 'agent.transcript_saved'))`,
);

export const noteResume = command(
  "sandboxes.note_resume",
  [SAMPLE_ID, {}],
  (id: SandboxId, resume: JsonObject) =>
    sql`update sandboxes set spec = spec || jsonb_build_object('resume', ${json(resume)}::jsonb) where id = ${id}`,
);
