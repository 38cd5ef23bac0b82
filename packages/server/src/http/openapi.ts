/** OpenAPI 3.1 from the endpoints, which are data. */
import { api, API_BASE, Problem, type Endpoint } from "@drover/contract";
import { z } from "zod";

const toSchema = (schema: z.ZodType, io: "input" | "output") => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", target: "draft-2020-12" });
  return rest;
};

const toParameters = (schema: z.ZodObject | undefined, place: "path" | "query") =>
  schema === undefined
    ? []
    : Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, field]) => ({
        name,
        in: place,
        required: place === "path" || !field.safeParse(undefined).success,
        schema: toSchema(field, "input"),
      }));

const SECURITY = { open: [], person: [{ bearer: [] }, { cookie: [] }], worker: [{ worker: [] }] } as const;

function toOperation(name: string, endpoint: Endpoint) {
  const problem = {
    description: "A refusal",
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
  return {
    operationId: name,
    summary: endpoint.summary,
    security: SECURITY[endpoint.access],
    parameters: [
      ...toParameters(endpoint.params, "path"),
      ...toParameters(endpoint.query, "query"),
      ...(endpoint.method === "POST" && endpoint.access !== "open"
        ? [{ name: "Idempotency-Key", in: "header", required: false, schema: { type: "string", maxLength: 200 } }]
        : []),
    ],
    ...(endpoint.body === undefined
      ? {}
      : { requestBody: { content: { "application/json": { schema: toSchema(endpoint.body, "input") } } } }),
    responses: {
      [String(endpoint.status ?? 200)]:
        endpoint.reply === undefined
          ? { description: "Bytes or a stream" }
          : { description: "Done", content: { "application/json": { schema: toSchema(endpoint.reply, "output") } } },
      default: problem,
    },
  };
}

function buildOpenApi(): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, endpoint] of Object.entries(api) as [string, Endpoint][]) {
    const path = (API_BASE + endpoint.path).replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: toOperation(name, endpoint) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Drover", version: "0.1.0", description: "A self-hosted control plane for AI coding agents." },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: { Problem: toSchema(Problem, "output") },
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A person's or program's token (drv_u_...)." },
        worker: { type: "http", scheme: "bearer", description: "A sandbox's token (drv_s_...)." },
        cookie: { type: "apiKey", in: "cookie", name: "drover_session" },
      },
    },
  };
}

let written: string | undefined;

/** Made when somebody asks: it takes longer than most of a server's start. */
export const writeOpenApi = (): string => (written ??= JSON.stringify(buildOpenApi()));
