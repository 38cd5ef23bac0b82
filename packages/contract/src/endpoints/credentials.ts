/** Who asks: sessions, tickets, tokens. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { TokenId } from "../ids.ts";
import { CreatedToken, NewToken, Token, Whoami } from "../resources/token.ts";
import { Timestamp } from "../time.ts";
import { page, Paging } from "./page.ts";

const Done = z.object({ status: z.literal("ok") });

export const credentialEndpoints = {
  login: endpoint({
    method: "POST",
    path: "/auth/login",
    access: "open",
    summary: "Exchange a token or a one-time login code for a session cookie.",
    body: z.strictObject({ token: z.string().min(1).max(500) }),
    reply: Whoami,
  }),
  logout: endpoint({
    method: "POST",
    path: "/auth/logout",
    access: "person",
    verb: "read",
    summary: "End the session of this cookie.",
    reply: Done,
  }),
  whoami: endpoint({
    method: "GET",
    path: "/auth/whoami",
    access: "person",
    verb: "read",
    summary: "Who this credential is.",
    reply: Whoami,
  }),
  createWsTicket: endpoint({
    method: "POST",
    path: "/auth/ws-ticket",
    access: "person",
    verb: "read",
    summary: "A ticket for one WebSocket, valid for 30 seconds.",
    reply: z.object({ ticket: z.string(), expires_at: Timestamp }),
    creates: true,
  }),
  listTokens: endpoint({
    method: "GET",
    path: "/tokens",
    access: "person",
    verb: "administer",
    summary: "Tokens of people and programs.",
    query: z.strictObject(Paging),
    reply: page(Token),
  }),
  createToken: endpoint({
    method: "POST",
    path: "/tokens",
    access: "person",
    verb: "administer",
    summary: "Create a token; its secret is shown once.",
    body: NewToken,
    reply: CreatedToken,
    status: 201,
    creates: true,
  }),
  revokeToken: endpoint({
    method: "DELETE",
    path: "/tokens/:token_id",
    access: "person",
    verb: "administer",
    summary: "Revoke a token; its live sockets close.",
    params: z.object({ token_id: TokenId }),
    reply: Token,
  }),
} as const;
