/** Answers what Node could not read as HTTP, on the bare socket. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import { AppError, type ErrorCode } from "@drover/contract";
import type { Log } from "../ports/log.ts";
import { toProblem } from "./problem.ts";

const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "request.headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "request.too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request.timed_out",
};

/** Connections whose last request is still being answered: a second answer must not be written into the first. */
export function watchAnswers(server: Server): { isAnswering(socket: Socket): boolean } {
  const answering = new WeakSet<Socket>();
  server.on("request", ({ socket }, response) => {
    answering.add(socket);
    response.once("close", () => answering.delete(socket));
  });
  server.on("upgrade", ({ socket }) => answering.add(socket));
  return { isAnswering: (socket) => answering.has(socket) };
}

export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  answers: { isAnswering(socket: Socket): boolean },
  requestId: string,
  log: Log,
): void {
  // Nobody is left to read an answer, or one is on its way already.
  if (error.code === "ECONNRESET" || !socket.writable || answers.isAnswering(socket)) return void socket.destroy();
  endWithProblem(socket, new AppError(CODES[error.code ?? ""] ?? "request.malformed"), requestId, log);
}

/** The answer, and the end, of a connection that no reply belongs to. */
export function endWithProblem(socket: Writable, error: AppError, requestId: string, log: Log): void {
  const problem = toProblem(error, requestId, log);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} Refused`,
    "content-type: application/problem+json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
