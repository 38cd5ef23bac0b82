/** Starts a worker as a plain process beside the server: no isolation, for the built-in demo agent only. */
export interface WorkerLauncher {
  /** Resolves when the process runs. Its end is its own; ending the sandbox voids its token, and then it leaves. */
  launch(name: string, env: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}
