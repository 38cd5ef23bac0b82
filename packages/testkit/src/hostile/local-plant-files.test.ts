import { describeHostile } from "./attempt.ts";
import { openLocal } from "./open-local.ts";
import { PLANT_FILES } from "./plant-files.ts";

describeHostile({ name: "local", open: openLocal, attempts: PLANT_FILES });
