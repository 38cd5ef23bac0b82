/** The one client of this page: same origin, session cookie. */
import { createClient } from "@drover/client";

export const client = createClient();
