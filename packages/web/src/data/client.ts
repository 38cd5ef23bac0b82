/** The one client of this page: same origin, session cookie; or the secret of a link to watch a run. */
import { createClient } from "@drover/client";

/** Stands behind the # of the address, which browsers send to nobody; kept nowhere else. */
export const watchToken =
  location.pathname.startsWith("/s/") && location.hash.length > 1 ? location.hash.slice(1) : undefined;

export const client = createClient({ token: watchToken });
