/** The worker as a program; bundled to one file. Exit codes: 0 over, 1 cannot start, 3 token revoked, 4 sandbox ended or replaced. */
import { forwardEgress } from "./forward-egress.ts";
import { runProcess } from "./run-process.ts";

// In containers nobody else is there to lead the way out; where a supervisor is, it has the port already.
if (process.env.CALLBACK_URL?.startsWith("unix:///run/cp/") === true) forwardEgress({ isAlone: false });
process.exit(await runProcess(process.env));
