/** The import rule holds for the sources, and is kept honest by a fixture that breaks it once per kind. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { findForbiddenImports } from "./import-rule.ts";

const TESTKIT = join(import.meta.dirname, "../..");

test("arrows point at contract, and processes meet only on the wire", () => {
  expect(findForbiddenImports(join(TESTKIT, "../.."))).toEqual([]);
});

test("each kind of forbidden import gives a sentence", () => {
  expect(findForbiddenImports(join(TESTKIT, "fixtures/broken-imports"))).toEqual([
    "packages/cli/src/computes.ts: cli computes what it imports; name it",
    "packages/cli/src/reaches-in.ts: cli reaches into server by path; import a package by its name",
    "packages/client/src/knows-node.ts: client may not import node:fs/promises",
    "packages/client/src/knows-react.ts: client may not import client/react",
    "packages/contract/src/wall-clock.ts: contract may not import node:process",
    "packages/core/src/knows-npm.ts: core may not import zod",
    "packages/core/src/knows-server.ts: core may not import @drover/server",
    "packages/harness/src/knows-server.ts: harness may not import @drover/server",
    "packages/server/src/adapters/db.ts: server/adapters may not import server/store",
    "packages/server/src/app/create-thing.ts: server/app may not import pg",
    "packages/server/src/app/create-thing.ts: server/app may not import server/adapters",
    "packages/server/src/http/mount.ts: server/http may not import server/adapters",
    "packages/server/src/http/mount.ts: server/http may not import server/store",
    "packages/server/src/misplaced/thing.ts: no rule says what this place may import",
    "packages/server/src/ports/bus.ts: server/ports may not import ioredis",
    "packages/server/src/store/rows.ts: server/store may not import server/app",
    "packages/web/src/knows-core.tsx: web may not import @drover/core",
    "packages/worker/src/knows-core.ts: worker may not import @drover/core",
  ]);
});
