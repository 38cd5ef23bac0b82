/** Who may push what: a sandbox to its own branch, a person to branches and tags. */

export interface PushCommand {
  readonly ref: string;
  /** `null`: the ref is made, or taken away. */
  readonly from: string | null;
  readonly to: string | null;
}

export type Pusher =
  | { readonly kind: "sandbox"; readonly branch: string }
  | { readonly kind: "person"; readonly defaultBranch: string };

export interface PushRefusal {
  readonly ref: string;
  readonly reason: string;
}

function complain(pusher: Pusher, command: PushCommand): string | undefined {
  if (pusher.kind === "sandbox") {
    if (command.ref !== `refs/heads/${pusher.branch}`)
      return `a sandbox may push only to its own branch, ${pusher.branch}`;
    return command.to === null ? "a sandbox may not delete its branch" : undefined;
  }
  if (!/^refs\/(?:heads|tags)\/./.test(command.ref)) return "only branches and tags are pushed";
  if (command.to === null && command.ref === `refs/heads/${pusher.defaultBranch}`)
    return "the default branch is not deleted";
  return undefined;
}

/** Every ref that is refused; one refusal refuses the whole push. */
export function decidePush(pusher: Pusher, commands: readonly PushCommand[]): readonly PushRefusal[] {
  return commands.flatMap((command) => {
    const reason = complain(pusher, command);
    return reason === undefined ? [] : [{ ref: command.ref, reason }];
  });
}
