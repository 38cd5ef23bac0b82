/** Imported before anything that makes a schema: zod would otherwise probe for `eval`, which the page's policy forbids and reports. */
import { config } from "zod";

config({ jitless: true });
