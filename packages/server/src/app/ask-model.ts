/** Asks the server's own model on somebody's account, by the way that agents' calls take: the gateway's rules hold for it too. */
import { AppError } from "@drover/contract";
import { findModelRoute } from "@drover/core";
import type { Judge, ModelWire } from "../ports/judge.ts";
import { callOwnModel, type Account } from "./call-model.ts";
import type { Deps } from "./deps.ts";

const openWire =
  (deps: Deps, account: Account): ModelWire =>
  async ({ protocol, path, query, headers, bytes }, signal) => {
    const route = findModelRoute(protocol, "POST", path);
    if (route?.kind !== "generate") throw new AppError("route.not_found", `the gateway does not pass POST ${path}`);
    return callOwnModel(deps, account, { route, query, headers, bytes }, signal);
  };

/** Undefined where the judge has no answer, and where there is no money for one. */
export async function askModel<T>(
  deps: Deps,
  account: Account,
  ask: (judge: Judge, wire: ModelWire) => Promise<T | undefined>,
): Promise<T | undefined> {
  return deps.judge.isThere ? ask(deps.judge, openWire(deps, account)) : undefined;
}
