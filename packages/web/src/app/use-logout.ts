/** Ends the session here and at the server. */
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { session } from "../data/session.ts";

export function useLogout() {
  const router = useRouter();
  return useMutation({
    mutationFn: () => client.logout(),
    onSettled: () => {
      session.leave();
      queryClient.clear();
      return router.navigate({ to: "/login" });
    },
  });
}
