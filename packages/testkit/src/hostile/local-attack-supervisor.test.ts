import { describeHostile } from "./attempt.ts";
import { openLocal } from "./open-local.ts";
import { ATTACK_SUPERVISOR, OPEN_SUPERVISOR } from "./attack-supervisor.ts";

describeHostile({ name: "local", open: openLocal, attempts: [...OPEN_SUPERVISOR, ...ATTACK_SUPERVISOR] });
