/** A page whose part is loaded when it is opened. */
import { ClientError } from "@drover/client";
import { lazyRouteComponent } from "@tanstack/react-router";

/** Told as a server that is away: by its own error the router would load everything anew, and lose the page that is open. */
export const lazyPage = <T extends Record<string, unknown>, K extends keyof T & string>(
  load: () => Promise<T>,
  name: K,
) =>
  lazyRouteComponent(
    () =>
      load().catch((cause: unknown) => {
        throw new ClientError("client.unreachable", "this part of the page could not be loaded", { cause });
      }),
    name,
  );
