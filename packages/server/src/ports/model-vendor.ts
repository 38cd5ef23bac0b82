/** Vendors of models. */

export interface VendorCall {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** For whom it is made, and what it says: a recording is searched by these. */
  readonly subject: string;
  readonly dialect: string;
  readonly path: string;
}

export interface VendorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Read at the reader's pace; rejects when the vendor breaks off. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Played from a recording: nobody is paid for it. */
  readonly isReplay: boolean;
}

/** Contract: `send` resolves with whatever the vendor answers, also errors, and rejects with AppError "model.unavailable" when
 *  there is no answer, "model.timed_out" when it does not come; so does the body of one that falls silent. Aborting the signal ends the call and its body. Nothing of the headers is logged. */
export interface ModelVendor {
  send(call: VendorCall, signal: AbortSignal): Promise<VendorAnswer>;
  close(): Promise<void>;
}

/** Recorded answers, by the name or path of their file. Contract: opened twice it is the same recording, with what each subject
 *  was told already. */
export interface Cassettes {
  open(name: string): Promise<ModelVendor>;
}
