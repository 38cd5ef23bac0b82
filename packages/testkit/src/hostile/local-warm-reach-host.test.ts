import { openWarmLocal } from "../warm-local.ts";
import { describeHostile } from "./attempt.ts";
import { REACH_HOST } from "./reach-host.ts";

describeHostile({ name: "local, claimed", open: openWarmLocal, attempts: REACH_HOST });
