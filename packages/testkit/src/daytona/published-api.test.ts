/** What Daytona's packages publish is read as it is meant: each kind of difference gives a sentence. */
import { expect, test } from "vitest";
import { readPublishedApis, type Exchange } from "./published-api.ts";

const { control, toolbox } = readPublishedApis();
const exchange = (method: string, path: string, body?: unknown): Exchange => {
  const url = new URL(path, "http://daytona");
  return { method, path: url.pathname, query: url.searchParams, body };
};

test("an operation and its query names must exist", () => {
  expect(control.complainOfRequest(exchange("GET", "/sandbox?labels=x&cursor=y"))).toEqual([]);
  expect(control.complainOfRequest(exchange("GET", "/sandbox?label=x"))).toEqual(["GET /sandbox?label is not known"]);
  expect(control.complainOfRequest(exchange("PATCH", "/sandbox"))).toEqual(["PATCH /sandbox is no operation"]);
});

test("a field of a body that is unknown, missing or of another type is told", () => {
  const create = { snapshot: "x", labels: { a: "b" }, cpu: 2, autoStopInterval: 0 };
  expect(control.complainOfRequest(exchange("POST", "/sandbox", create))).toEqual([]);
  const wrong = { ...create, cpu: "2", labels: { a: 1 }, ephemeral: true };
  expect(control.complainOfRequest(exchange("POST", "/sandbox", wrong))).toEqual([
    "the body of POST /sandbox: body.ephemeral is not known",
    "the body of POST /sandbox: body.labels.a is not a string",
    "the body of POST /sandbox: body.cpu is not a number",
  ]);
  expect(toolbox.complainOfRequest(exchange("POST", "/process/session/s/exec", {}))).toEqual([
    "the body of POST /process/session/s/exec: body.command is missing",
  ]);
});

test("a field of an answer that is unknown, missing or not in its enumeration is told", () => {
  const command = { id: "c", command: "true", exitCode: 0 };
  const asked = exchange("GET", "/process/session/s/command/c");
  expect(toolbox.complainOfAnswer(asked, command)).toEqual([]);
  expect(toolbox.complainOfAnswer(asked, { id: "c", code: 0 })).toEqual([
    "the answer to GET /process/session/s/command/c: answer.code is not known",
    "the answer to GET /process/session/s/command/c: answer.command is missing",
  ]);
  const state = control.complainOfAnswer(exchange("GET", "/sandbox/x"), { state: "sleeping" });
  expect(state).toContain('the answer to GET /sandbox/x: answer.state is none of what is allowed: "sleeping"');
});

test("an error of the toolbox has a known code", () => {
  const error = { statusCode: 404, message: "gone", path: "/files", timestamp: "now", code: "FILE_NOT_FOUND" };
  expect(toolbox.complainOfError(error)).toEqual([]);
  expect(toolbox.complainOfError({ ...error, code: "NO_FILE" })).toEqual([
    'an error of the toolbox: error.code is none of what is allowed: "NO_FILE"',
  ]);
});
