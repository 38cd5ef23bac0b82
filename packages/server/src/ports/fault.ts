/** Named points at which a test may kill the process. Does nothing in production. */
export const FAULT_POINTS = [
  "ingest.before_commit", // everything is written, nothing is committed
  "ingest.committed", // committed, nobody was told
  "ingest.published", // subscribers were told, the worker was not
  "message.leased", // taken for a worker, which has not heard of it
  "message.acked", // a receipt is stored, the worker was not told
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];
export type Fault = (point: FaultPoint) => void;
