/** The one client of this page: same origin, session cookie; or the secret of a link to watch a run. */
import { createClientByNeed } from "@drover/client";
import {
  credentialEndpoints,
  eventEndpoints,
  messageEndpoints,
  permissionEndpoints,
  sandboxEndpoints,
} from "@drover/contract";
import { fetchOnceEarly } from "./early-replies.ts";

/** Stands behind the # of the address, which browsers send to nobody; kept nowhere else. */
export const watchToken =
  location.pathname.startsWith("/s/") && location.hash.length > 1 ? location.hash.slice(1) : undefined;

/** All that a run needs, so that a message can be written while the server is away; the other pages' calls are most of the table. */
const FIRST = {
  ...credentialEndpoints,
  ...sandboxEndpoints,
  ...eventEndpoints,
  ...messageEndpoints,
  ...permissionEndpoints,
};

const loadApi = () => import("./all-endpoints.ts").then(({ api }) => api);

export const client = createClientByNeed({ token: watchToken, fetch: fetchOnceEarly }, FIRST, loadApi);
