/** Sandboxes at Daytona, through its own SDK. What it does and does not keep of the port's promises: docs/DAYTONA.md. */
import { randomUUID } from "node:crypto";
import type { Sandbox } from "@daytona/sdk";
import type { SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import { openClient, type Client, type ClientOptions } from "./daytona/client.ts";
import { ensureSandbox, type CreateOptions } from "./daytona/create-sandbox.ts";
import { DETACHED_SESSION, listRefs, toInfo } from "./daytona/describe.ts";
import { downloadFile, listDirectory, uploadFile } from "./daytona/files.ts";
import { toDetachedScript } from "./daytona/in-sandbox.ts";
import { runCommand, startInSession } from "./daytona/run-command.ts";
import { toMeaning } from "./daytona/sandbox-state.ts";
import { openPty } from "./daytona/terminal.ts";

export interface DaytonaOptions extends ClientOptions, CreateOptions {}

/** Only virtual machines can be held in the middle of their work; a container is stopped, and its processes end. */
const pauseSandbox = (sandbox: Sandbox, timeoutSeconds: number) =>
  sandbox.sandboxClass === "linux-vm" ? sandbox.pause(timeoutSeconds) : sandbox.stop(timeoutSeconds);

/** Undefined when there is none. */
const find = ({ sdk, daytona }: Client, ref: SandboxRef): Promise<Sandbox | undefined> =>
  daytona.get(ref.id).catch((error: unknown) => {
    if (error instanceof sdk.DaytonaNotFoundError) return undefined;
    throw error;
  });

async function destroy(client: Client, ref: SandboxRef, timeoutSeconds: number): Promise<void> {
  const sandbox = await find(client, ref);
  if (sandbox === undefined || toMeaning(sandbox.state).state === undefined) return;
  await sandbox.delete(timeoutSeconds, true).catch(async (error: unknown) => {
    // Somebody else may have been quicker.
    const left = await find(client, ref);
    if (left !== undefined && toMeaning(left.state).state !== undefined) throw error;
  });
}

export function openDaytona(options: DaytonaOptions): SandboxProvider {
  const { timeoutSeconds } = options;
  let opening: Promise<Client> | undefined;
  const open = () => (opening ??= openClient(options));
  /** The sandbox as Daytona knows it now, always by Daytona's own id. */
  const load = async (ref: SandboxRef, signal: AbortSignal) => {
    const client = await open();
    const sandbox = await client.call("lifecycle", signal, () => client.daytona.get(ref.id));
    return { client, sandbox, kind: toMeaning(sandbox.state).kind };
  };

  return {
    name: "daytona",
    capabilities: {
      pause: true,
      snapshot: true,
      terminal: true,
      socketDirectory: false,
      egressPolicy: false,
      mounts: false,
      survivesServer: true,
    },
    ensure: async (spec, signal) => {
      const client = await open();
      const sandbox = await client.call("input", signal, () => ensureSandbox(client, spec, options));
      return { key: spec.key, id: sandbox.id, labels: spec.labels };
    },
    exec: async function* (ref, command, signal) {
      const { client, sandbox } = await load(ref, signal);
      yield* runCommand(client, sandbox, command, signal);
    },
    openTerminal: async (ref, size, signal) => {
      const { client, sandbox } = await load(ref, signal);
      return openPty(client, sandbox, size, signal);
    },
    upload: async (ref, path, bytes, { mode }, signal) => {
      const { client, sandbox } = await load(ref, signal);
      await client.call("file", signal, () => uploadFile(sandbox, path, bytes, mode));
    },
    download: async (ref, path, limitBytes, signal) => {
      const { client, sandbox } = await load(ref, signal);
      return client.call("file", signal, () => downloadFile(sandbox, path, limitBytes, signal));
    },
    listFiles: async (ref, path, signal) => {
      const { client, sandbox } = await load(ref, signal);
      return client.call("file", signal, () => listDirectory(sandbox, path));
    },
    startDetached: async (ref, command, signal) => {
      const { client, sandbox } = await load(ref, signal);
      const session = `${DETACHED_SESSION}${randomUUID()}`;
      const toScript = (input: string | undefined) => toDetachedScript(command, session, input);
      await client.call("input", signal, () => startInSession(sandbox, session, command.stdin, toScript));
    },
    socketDirectory: () => undefined,
    info: async (ref, signal) => {
      const client = await open();
      return client.call("lifecycle", signal, async () => {
        const sandbox = await find(client, ref);
        return sandbox === undefined ? undefined : toInfo(sandbox);
      });
    },
    list: async (labels, signal) => {
      const client = await open();
      return client.call("lifecycle", signal, () => listRefs(client, labels));
    },
    pause: async (ref, signal) => {
      const { client, sandbox, kind } = await load(ref, signal);
      if (kind !== "asleep") await client.call("lifecycle", signal, () => pauseSandbox(sandbox, timeoutSeconds));
    },
    resume: async (ref, signal) => {
      const { client, sandbox, kind } = await load(ref, signal);
      if (kind !== "ready") await client.call("lifecycle", signal, () => sandbox.start(timeoutSeconds));
    },
    snapshot: async (ref, name, signal) => {
      const { client, sandbox } = await load(ref, signal);
      await client.call("input", signal, () => sandbox.createSnapshot(name, timeoutSeconds));
      return { snapshot: name };
    },
    destroy: async (ref, signal) => {
      const client = await open();
      await client.call("lifecycle", signal, () => destroy(client, ref, timeoutSeconds));
    },
    close: async () => {
      // Expected: it never opened.
      const client = await opening?.catch(() => undefined);
      await client?.daytona[Symbol.asyncDispose]();
    },
  };
}
