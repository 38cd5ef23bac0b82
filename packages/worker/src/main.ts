/** The worker as a program; bundled to one file. Exit codes: 0 over, 1 cannot start, 3 token revoked, 4 sandbox ended or replaced. */
import { runProcess } from "./run-process.ts";

process.exit(await runProcess(process.env));
