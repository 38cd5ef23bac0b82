/** What this person may do. The server decides anyway; the page offers nothing that it would refuse. */
import { VERBS_OF_ROLE, type Verb } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { whoamiQuery } from "./queries.ts";

/** Until the role is known, everyday actions are assumed and those of admins are not: nearly everybody may operate. */
export function useMay(verb: Verb): boolean {
  const whoami = useQuery(whoamiQuery);
  return whoami.data === undefined ? verb !== "administer" : VERBS_OF_ROLE[whoami.data.role].includes(verb);
}
