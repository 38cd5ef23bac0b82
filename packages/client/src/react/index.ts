/** React hooks of Drover. */
export { DroverProvider, useClient } from "./provider.ts";
export { useEntityEvents, useEvents, useEventTypes, type Events } from "./use-events.ts";
export { useSandbox, type SandboxView } from "./use-sandbox.ts";
