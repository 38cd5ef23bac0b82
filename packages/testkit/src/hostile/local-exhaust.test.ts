import { describeHostile } from "./attempt.ts";
import { openLocal } from "./open-local.ts";
import { EXHAUST } from "./exhaust.ts";

describeHostile({ name: "local", open: openLocal, attempts: EXHAUST });
