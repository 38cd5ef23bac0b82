import { ABUSE_KERNEL } from "./abuse-kernel.ts";
import { describeHostile } from "./attempt.ts";
import { openLocal } from "./open-local.ts";

describeHostile({ name: "local", open: openLocal, attempts: ABUSE_KERNEL });
