import { describeHostile } from "./attempt.ts";
import { openLocal } from "./open-local.ts";
import { REACH_HOST } from "./reach-host.ts";

describeHostile({ name: "local", open: openLocal, attempts: REACH_HOST });
