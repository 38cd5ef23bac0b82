/** What a handler is given beside its parsed input, and the shape of the table of handlers. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError, type Api, type EndpointName, type Input, type Reply } from "@drover/contract";
import type { RequestKey } from "../app/create-once.ts";
import type { Person, Principal, WorkerPrincipal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import type { CredentialWatch } from "./credential-watch.ts";
import { signalOf } from "./hang-up.ts";
import type { RateLimits } from "./rate-limits.ts";

interface Asked {
  readonly deps: Deps;
  readonly limits: RateLimits;
  readonly watch: CredentialWatch;
  readonly principal: Principal | undefined;
  readonly requestKey: RequestKey | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface Endings {
  readonly stopping: AbortSignal;
  readonly leaving: AbortSignal;
}

/** A class, because the getters of an object literal are its own: the engine then makes a hidden class for each request, and keeps it, with all that
 *  the request held, until it looks through the whole heap. */
export class Context implements Asked {
  readonly deps: Deps;
  readonly limits: RateLimits;
  readonly watch: CredentialWatch;
  readonly principal: Principal | undefined;
  readonly requestKey: RequestKey | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly #endings: Endings;

  constructor(asked: Asked, endings: Endings) {
    this.deps = asked.deps;
    this.limits = asked.limits;
    this.watch = asked.watch;
    this.principal = asked.principal;
    this.requestKey = asked.requestKey;
    this.request = asked.request;
    this.reply = asked.reply;
    this.#endings = endings;
  }

  /** Aborts when the caller hangs up or the server stops. */
  get signal(): AbortSignal {
    return signalOf(this.reply.raw, [this.#endings.stopping]);
  }

  /** For what only waits: aborts already when the server begins to leave, so that the caller waits at another replica. */
  get waiting(): AbortSignal {
    const { stopping, leaving } = this.#endings;
    if (leaving.aborted) throw new AppError("server.not_ready", "the server stops");
    return signalOf(this.reply.raw, [stopping, leaving]);
  }
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
