/** Named points at which a test may kill the process. Does nothing in production. */
export type FaultPoint = "ingest.before_commit" | "ingest.committed" | "ingest.published" | "message.leased" | "message.acked";
export type Fault = (point: FaultPoint) => void;
