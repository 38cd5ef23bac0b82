import { describeHostile } from "./attempt.ts";
import { openLocal } from "./open-local.ts";
import { ATTACK_SUPERVISOR } from "./attack-supervisor.ts";

describeHostile({ name: "local", open: openLocal, attempts: ATTACK_SUPERVISOR });
