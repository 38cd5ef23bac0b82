/** A workspace by its mode; what cannot be had is an error, never another mode. */
import { posix } from "node:path";
import { AppError, WorkspaceMode, type Config } from "@drover/contract";
import { openSandboxWorkspace, type SandboxWorkspace } from "./provider-workspace.ts";
import { openRemoteWorkspace, type RemoteWorkspace } from "./remote-workspace.ts";

export interface WorkspaceOptions {
  readonly mode: WorkspaceMode;
  readonly config: Config;
  readonly env?: Readonly<Record<string, string>>;
  /** An installed agent, which is shown inside. */
  readonly runtime?: string | undefined;
  readonly image?: string | undefined;
  readonly snapshot?: string | undefined;
  readonly signal?: AbortSignal;
  /** Of the agent server, for `remote`. */
  readonly remote?: {
    readonly url: string;
    readonly key?: string | undefined;
    readonly root: string;
    readonly project?: string;
    readonly task?: string;
  };
}

/** `local` when nothing is said. */
export function parseWorkspaceMode(text: string | undefined): WorkspaceMode {
  if (text === undefined || text === "") return "local";
  const found = WorkspaceMode.safeParse(text).data;
  if (found === undefined)
    throw new AppError(
      "config.invalid",
      `there is no workspace ${JSON.stringify(text)}; there are ${WorkspaceMode.options.join(", ")}`,
    );
  return found;
}

const PART = /^[\w][\w.-]{0,100}$/;

/** `<root>/<project>/<task>`; names that would lead elsewhere are refused. */
function toDirectory({
  root,
  project = "direct",
  task = crypto.randomUUID(),
}: NonNullable<WorkspaceOptions["remote"]>): string {
  for (const part of [project, task])
    if (!PART.test(part)) throw new AppError("config.invalid", `${JSON.stringify(part)} is no name of a directory`);
  return posix.join(root, project, task);
}

export async function openWorkspace(options: WorkspaceOptions): Promise<SandboxWorkspace | RemoteWorkspace> {
  const { mode, remote, ...rest } = options;
  if (mode !== "remote") return openSandboxWorkspace({ ...rest, mode });
  if (remote === undefined)
    throw new AppError("config.invalid", "a remote workspace needs the address of an agent server");
  const directory = toDirectory(remote);
  return openRemoteWorkspace({
    url: remote.url,
    key: remote.key,
    directory,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
