/** An endpoint as data: mounted once by the server, called by the client, described in OpenAPI. */
import type { z } from "zod";
import type { Verb } from "./resources/token.ts";

/** `open`: no credential. `person`: a user's token with the verb. `worker`: the sandbox's own token. */
export type Access = "open" | "person" | "worker";

export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the API's base path, with `:name` parameters. */
  readonly path: string;
  readonly access: Access;
  /** What a person's role must allow on the target. Workers and open endpoints have none. */
  readonly verb?: Verb;
  /** Also open to whoever has a link to watch the sandbox that the path names. */
  readonly isShared?: true;
  readonly summary: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** `undefined`: the reply is not JSON (a stream or bytes). */
  readonly reply?: z.ZodType;
  readonly status?: number;
  /** The POST creates something: what is made and the reply that tells of it are kept together under its `Idempotency-Key`, and clients
   *  always send one. */
  readonly creates?: true;
}

export const API_BASE = "/api/v1";

export const endpoint = <const E extends Endpoint>(definition: E): E => definition;

type Parsed<T> = T extends z.ZodType ? z.infer<T> : undefined;
type Given<T> = T extends z.ZodType ? z.input<T> : undefined;

/** What a handler receives, parsed. */
export interface Input<E extends Endpoint> {
  readonly params: Parsed<E["params"]>;
  readonly query: Parsed<E["query"]>;
  readonly body: Parsed<E["body"]>;
}

export type Reply<E extends Endpoint> = E["reply"] extends z.ZodType ? z.input<E["reply"]> : unknown;
export type ReplyParsed<E extends Endpoint> = E["reply"] extends z.ZodType ? z.infer<E["reply"]> : unknown;

/** What a caller gives: one flat object of path parameters, query and body. */
export type CallInput<E extends Endpoint> = {
  readonly params: Given<E["params"]>;
  readonly query: Given<E["query"]>;
  readonly body: Given<E["body"]>;
};
