/** Every verb of the command line, in the order in which help lists them. */
import type { Verb } from "./verb.ts";
import { config } from "./verbs/config.ts";
import { events } from "./verbs/events.ts";
import { toHelp } from "./verbs/help.ts";
import { ls } from "./verbs/ls.ts";
import { rm } from "./verbs/rm.ts";
import { send } from "./verbs/send.ts";
import { show } from "./verbs/show.ts";
import { token } from "./verbs/token.ts";
import { up } from "./verbs/up.ts";
import { worker } from "./verbs/worker.ts";

export const VERBS: readonly Verb[] = [up, ls, show, events, send, rm, token, config, worker, toHelp(() => VERBS)];
