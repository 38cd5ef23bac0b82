/** Files of a sandbox: walked, read as text, downloaded. Names and contents come from inside, so they are only ever text. */
import { TERMINAL_SANDBOX_STATES, type FileList, type Sandbox } from "@drover/contract";
import type { FeedView } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { ArrowUp, CornerDownRight, File, Folder, RotateCw } from "lucide-react";
import { useMemo } from "react";
import { formatAge, formatBytes } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import type { Checkpoint } from "./changed.ts";
import { FileText } from "./file-text.tsx";
import { KeptFiles } from "./kept-files.tsx";
import { filesQuery } from "./queries.ts";

const WORKSPACE = "/workspace";
export type FilesPlace = {
  readonly path?: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
};

type Entry = FileList["entries"][number];

interface FilesTabProps {
  readonly sandbox: Sandbox;
  readonly view: FeedView;
  readonly path: string | undefined;
  readonly file: string | undefined;
  /** The newest one, for when the sandbox itself is no more. */
  readonly checkpoint: Checkpoint | undefined;
  /** Of the file, counted from 1: who wrote it is told. */
  readonly line: number | undefined;
  readonly onOpen: (place: FilesPlace) => void;
}

const join = (folder: string, name: string): string => `${folder === "/" ? "" : folder}/${name}`;
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";

const byKindThenName = (one: Entry, other: Entry): number =>
  Number(other.kind === "directory") - Number(one.kind === "directory") || (one.name < other.name ? -1 : 1);

export function FilesTab({ sandbox, view, path, file, checkpoint, line, onOpen }: FilesTabProps) {
  const folder = path ?? (file === undefined ? WORKSPACE : parentOf(file));
  if (sandbox.provider === "external")
    return <Empty text="Drover did not make this sandbox, so it cannot look into it." />;
  if (TERMINAL_SANDBOX_STATES.has(sandbox.state))
    return checkpoint === undefined ? (
      <Empty text="The sandbox is gone, and its files were not kept." />
    ) : (
      <KeptFiles
        sandboxId={sandbox.id}
        rows={view.rows}
        checkpoint={checkpoint}
        file={file?.startsWith(`${WORKSPACE}/`) === true ? file.slice(WORKSPACE.length + 1) : undefined}
        line={line}
        onOpen={(name, next) => onOpen(name === undefined ? {} : { file: `${WORKSPACE}/${name}`, line: next })}
      />
    );
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <Folders sandboxId={sandbox.id} folder={folder} file={file} onOpen={onOpen} />
      {file === undefined ? (
        <Empty text="Choose a file to read it." className="max-md:hidden" />
      ) : (
        <FileText
          key={file}
          sandboxId={sandbox.id}
          rows={view.rows}
          path={file}
          name={file.startsWith(`${WORKSPACE}/`) ? file.slice(WORKSPACE.length + 1) : undefined}
          line={line}
          onLine={(next) => onOpen({ path: folder, file, line: next })}
          onClose={() => onOpen({ path: folder })}
        />
      )}
    </div>
  );
}

const Empty = ({ text, className }: { readonly text: string; readonly className?: string }) => (
  <div className={cx("grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3", className)}>{text}</div>
);

interface FoldersProps {
  readonly sandboxId: string;
  readonly folder: string;
  readonly file: string | undefined;
  readonly onOpen: FilesTabProps["onOpen"];
}

function Folders({ sandboxId, folder, file, onOpen }: FoldersProps) {
  const list = useQuery(filesQuery(sandboxId, folder));
  const entries = useMemo(() => list.data?.entries.toSorted(byKindThenName) ?? [], [list.data]);
  const steps = folder.split("/").filter(Boolean);
  return (
    <section
      aria-label="Folder"
      className={cx(
        "flex min-h-0 shrink-0 flex-col border-line md:w-80 md:border-r",
        file === undefined ? "max-md:flex-1" : "max-md:hidden",
      )}
    >
      <div className="flex items-center gap-1 border-b border-line px-3 py-1.5">
        <nav aria-label="Path" className="min-w-0 flex-1 truncate font-mono text-xs text-ink-3" dir="ltr">
          <button type="button" className="rounded px-0.5 hover:text-ink" onClick={() => onOpen({ path: "/" })}>
            /
          </button>
          {steps.map((step, at) => (
            <span key={at}>
              {at > 0 && "/"}
              <button
                type="button"
                className={cx("rounded px-0.5 hover:text-ink", at === steps.length - 1 && "text-ink")}
                onClick={() => onOpen({ path: `/${steps.slice(0, at + 1).join("/")}` })}
              >
                {step}
              </button>
            </span>
          ))}
        </nav>
        <Button look="ghost" size="icon" aria-label="Read again" onClick={() => void list.refetch()}>
          <RotateCw size={14} />
        </Button>
      </div>
      {list.isError && (
        <div className="p-3">
          <Problem error={list.error} what="This folder could not be read" onRetry={() => void list.refetch()} />
        </div>
      )}
      {list.isPending && <div className="skeleton m-3 h-40" />}
      {list.isSuccess && (
        <ul aria-label={`Entries of ${folder}`} className="min-h-0 flex-1 overflow-y-auto py-1" tabIndex={0}>
          {folder !== "/" && (
            <li>
              <Line icon={ArrowUp} name=".." onClick={() => onOpen({ path: parentOf(folder) })} />
            </li>
          )}
          {entries.map((entry) => (
            <li key={entry.name}>
              <EntryLine
                entry={entry}
                isHere={file === join(folder, entry.name)}
                onClick={() =>
                  onOpen(
                    entry.kind === "directory"
                      ? { path: join(folder, entry.name) }
                      : { path: folder, file: join(folder, entry.name) },
                  )
                }
              />
            </li>
          ))}
          {entries.length === 0 && <li className="px-4 py-2 text-xs text-ink-3">Empty</li>}
        </ul>
      )}
    </section>
  );
}

const ICONS = { file: File, directory: Folder, symlink: CornerDownRight, other: File } as const;

function EntryLine({
  entry,
  isHere,
  onClick,
}: {
  readonly entry: Entry;
  readonly isHere: boolean;
  readonly onClick: () => void;
}) {
  const now = useNow();
  const note =
    entry.kind === "directory"
      ? formatAge(now - Date.parse(entry.modified_at))
      : entry.kind === "file"
        ? formatBytes(entry.size)
        : entry.kind === "symlink"
          ? "link"
          : "special";
  // What is neither file nor directory has nothing to read.
  return (
    <Line
      icon={ICONS[entry.kind]}
      name={entry.name}
      note={note}
      isHere={isHere}
      isFolder={entry.kind === "directory"}
      {...(entry.kind === "other" ? {} : { onClick })}
    />
  );
}

interface LineProps {
  readonly icon: typeof File;
  readonly name: string;
  readonly note?: string;
  readonly isHere?: boolean;
  readonly isFolder?: boolean;
  readonly onClick?: () => void;
}

function Line({ icon: Icon, name, note, isHere = false, isFolder = false, onClick }: LineProps) {
  return (
    <button
      type="button"
      disabled={onClick === undefined}
      aria-current={isHere ? "true" : undefined}
      onClick={onClick}
      className={cx(
        "flex min-h-7 w-full items-center gap-2 px-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
        isHere ? "bg-live-soft text-live-ink" : "hover:bg-hover",
      )}
    >
      <Icon size={14} aria-hidden className={cx("shrink-0", isFolder ? "text-done-ink" : "text-ink-3")} />
      <span className="min-w-0 flex-1 truncate">{name}</span>
      {note !== undefined && <span className="shrink-0 text-2xs text-ink-3 tabular-nums">{note}</span>}
    </button>
  );
}
