/** Says that tasks wait because their project starts none by itself, and where that is set. */
import type { Task } from "@drover/contract";
import { Link } from "@tanstack/react-router";
import { plural } from "../data/format.ts";
import { useMay } from "../data/use-may.ts";

export function WaitingProject({ tasks }: { readonly tasks: readonly Task[] }) {
  const mayAdminister = useMay("administer");
  const waiting = tasks.filter(
    ({ status, execution_config: config }) => status === "pending" && config["force_execute"] !== true,
  ).length;
  if (waiting === 0) return null;
  return (
    <p className="mt-2 text-sm text-wait-ink">
      {plural(waiting, "task")} will not start: the project starts no tasks by itself.{" "}
      {mayAdminister && (
        <Link to="/settings" search={{ section: "projects" }} className="font-medium underline underline-offset-2">
          Change that
        </Link>
      )}
    </p>
  );
}
