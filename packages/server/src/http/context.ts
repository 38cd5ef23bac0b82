/** What a handler is given beside its parsed input, and the shape of the table of handlers. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError, type Api, type EndpointName, type Input, type Reply } from "@drover/contract";
import type { RequestKey } from "../app/create-once.ts";
import type { Person, Principal, WorkerPrincipal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import type { CredentialWatch } from "./credential-watch.ts";
import type { RateLimits } from "./rate-limits.ts";

export interface Context {
  readonly deps: Deps;
  readonly limits: RateLimits;
  readonly watch: CredentialWatch;
  readonly principal: Principal | undefined;
  readonly requestKey: RequestKey | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Aborts when the caller hangs up or the server stops. */
  readonly signal: AbortSignal;
  /** For what only waits: aborts already when the server begins to leave, so that the caller waits at another replica. */
  readonly waiting: AbortSignal;
}

type Handler<Name extends EndpointName> = (context: Context, input: Input<Api[Name]>) => Promise<Reply<Api[Name]>>;
export type Handlers = { readonly [Name in EndpointName]: Handler<Name> };

export function person({ principal }: Context): Person {
  if (principal?.kind !== "person") throw new AppError("auth.forbidden");
  return principal;
}

export function worker({ principal }: Context): WorkerPrincipal {
  if (principal?.kind !== "worker") throw new AppError("auth.forbidden");
  return principal;
}
