/** Posts to an address that a person named, from inside the network that must not be reached through it. */

export interface WebhookOrder {
  readonly url: string;
  /** The same for every try of one message. */
  readonly id: string;
  readonly body: string;
  readonly contentType: string;
  /** `whsec_...`; null: it is not signed. */
  readonly secret: string | null;
}

/** Contract: a name is looked up once, every address is judged, and only a judged one is dialled. Redirects are not followed. It ends in
 *  bounded time with what the receiver said or with why it could not be asked; it throws only when `signal` aborts. */
export interface WebhookPost {
  post(
    order: WebhookOrder,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly retryAfterSeconds?: number } | { readonly error: string }>;
  /** Why an address could never be posted to, as far as it is known without looking its name up. */
  findComplaint(url: string): string | undefined;
}
