/** `/mcp`: the endpoints as tools for programs that speak the Model Context Protocol, with the rights of whoever asks. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { api, API_BASE, AppError, type Endpoint, type Problem } from "@drover/contract";
import type { Person } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { resolvePrincipal } from "./authorise.ts";
import { signalOf } from "./hang-up.ts";
import type { Asked, CallAs } from "./mcp-tools.ts";

const PATHS = ["/mcp", `${API_BASE}/mcp`];
/** What of the caller's headers an endpoint sees: who asks, and by which name. Everything else is ours. */
const PASSED = ["authorization", "cookie", "host"] as const;

function toUrl(endpoint: Endpoint, { params = {}, query = {} }: Asked): string {
  const path = endpoint.path.replaceAll(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(name, String(one));
  return `${API_BASE}${path}${search.size === 0 ? "" : `?${search.toString()}`}`;
}

const toRefusal = ({ title, detail, errors = [] }: Problem): string =>
  [`${title}: ${detail}`, ...errors.map(({ path, message }) => `${path}: ${message}`)].join("\n");

/** Goes the way of every request, so that rights, shapes and limits are those of the HTTP API and cannot differ from them. */
function toCall(app: FastifyInstance, request: FastifyRequest, refuse: (text: string) => Error): CallAs {
  const passed = Object.fromEntries(
    PASSED.flatMap((name) => (request.headers[name] === undefined ? [] : [[name, String(request.headers[name])]])),
  );
  return async (name, asked) => {
    const endpoint: Endpoint = api[name];
    const hasBody = asked.body !== undefined;
    const answer = await app.inject({
      method: endpoint.method,
      url: toUrl(endpoint, asked),
      headers: {
        ...passed,
        "x-request-id": request.id,
        ...(hasBody ? { "content-type": "application/json" } : {}),
        ...(asked.key === undefined ? {} : { "idempotency-key": asked.key }),
      },
      ...(hasBody ? { payload: JSON.stringify(asked.body) } : {}),
    });
    if (answer.statusCode >= 400) throw refuse(toRefusal(answer.json()));
    return answer.json();
  };
}

async function requirePerson(deps: Deps, request: FastifyRequest): Promise<Person> {
  const principal = await resolvePrincipal(deps, request.headers);
  if (principal === undefined) throw new AppError("auth.required");
  if (principal.kind !== "person") throw new AppError("auth.forbidden", "a sandbox's token may not do this");
  return principal;
}

export function mountMcp(app: FastifyInstance, deps: Deps, stopping: AbortSignal): void {
  const callers = new WeakMap<FastifyRequest, Person>();
  const onRequest = async (request: FastifyRequest) => void callers.set(request, await requirePerson(deps, request));
  for (const url of PATHS) {
    app.route({
      method: "POST",
      url,
      onRequest,
      handler: async (request, reply) => {
        const caller = callers.get(request);
        if (caller === undefined) throw new AppError("auth.required");
        const signal = signalOf(reply.raw, [stopping]);
        // The SDK is large: who asks for no tool does not load it.
        const { answerExchange, RefusedError } = await import("./mcp-exchange.ts");
        const response = await answerExchange({
          deps,
          role: caller.grant.role,
          call: toCall(app, request, (text) => new RefusedError(text)),
          request: new Request(`http://drover${url}`, {
            method: "POST",
            headers: Object.entries(request.headers).flatMap(([name, value]) =>
              value === undefined ? [] : [[name, String(value)] as [string, string]],
            ),
          }),
          body: request.body,
          signal,
        });
        const type = response.headers.get("content-type");
        if (type !== null) void reply.type(type);
        return reply.status(response.status).send(await response.text());
      },
    });
    // No stream and no session is kept for a client: what it may open or close elsewhere it cannot here.
    app.route({
      method: ["GET", "DELETE"],
      url,
      onRequest,
      handler: (_request, reply) => {
        void reply.header("allow", "POST");
        throw new AppError("request.wrong_method", "MCP is asked by POST here; no session is kept");
      },
    });
  }
}
