import { describeHostile } from "./attempt.ts";
import { ESCAPE_EGRESS } from "./escape-egress.ts";
import { openLocal } from "./open-local.ts";

describeHostile({ name: "local", open: openLocal, attempts: ESCAPE_EGRESS });
