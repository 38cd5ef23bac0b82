/** Whether this person may change work; assumed until it is known, since the server decides anyway. */
import { VERBS_OF_ROLE } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { whoamiQuery } from "../data/queries.ts";

export function useMayOperate(): boolean {
  const whoami = useQuery(whoamiQuery);
  return whoami.data === undefined || VERBS_OF_ROLE[whoami.data.role].includes("operate");
}
