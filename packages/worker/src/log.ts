/** One line per thing worth knowing, on standard error; never an event's content, never a token. */
export type Log = (event: string, fields?: Readonly<Record<string, unknown>>) => void;

export const stderrLog: Log = (event, fields = {}) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), event, ...fields })}\n`);
};

export const noLog: Log = () => {};
