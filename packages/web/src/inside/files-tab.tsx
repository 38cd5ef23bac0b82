/** Files of a sandbox: walked, read as text, downloaded. Names and contents come from inside, so they are only ever text. */
import { API_BASE, type FileList, type Sandbox } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { ArrowDownToLine, ArrowUp, CornerDownRight, File, Folder, RotateCw } from "lucide-react";
import { useMemo } from "react";
import { VList } from "virtua";
import { formatAge, formatBytes, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Problem } from "../ui/problem.tsx";
import { fileQuery, filesQuery } from "./queries.ts";

const WORKSPACE = "/workspace";

type Entry = FileList["entries"][number];

interface FilesTabProps {
  readonly sandbox: Sandbox;
  readonly path: string | undefined;
  readonly file: string | undefined;
  readonly onOpen: (part: { readonly path?: string | undefined; readonly file?: string | undefined }) => void;
}

const join = (folder: string, name: string): string => `${folder === "/" ? "" : folder}/${name}`;
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";
const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

const byKindThenName = (one: Entry, other: Entry): number =>
  Number(other.kind === "directory") - Number(one.kind === "directory") || (one.name < other.name ? -1 : 1);

export function FilesTab({ sandbox, path, file, onOpen }: FilesTabProps) {
  const folder = path ?? (file === undefined ? WORKSPACE : parentOf(file));
  if (sandbox.provider === "external")
    return <Empty text="Drover did not make this sandbox, so it cannot look into it." />;
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <Folders sandboxId={sandbox.id} folder={folder} file={file} onOpen={onOpen} />
      {file === undefined ? (
        <Empty text="Choose a file to read it." className="max-md:hidden" />
      ) : (
        <Text key={file} sandboxId={sandbox.id} path={file} onClose={() => onOpen({ path: folder })} />
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

interface TextProps {
  readonly sandboxId: string;
  readonly path: string;
  readonly onClose: () => void;
}

function Text({ sandboxId, path, onClose }: TextProps) {
  const read = useQuery(fileQuery(sandboxId, path));
  const text = read.data?.text ?? undefined;
  const isBinary = read.data?.text === null;
  const lines = useMemo(() => text?.replace(/\n$/, "").split("\n") ?? [], [text]);
  const address = `${API_BASE}/sandboxes/${encodeURIComponent(sandboxId)}/files/content?path=${encodeURIComponent(path)}`;
  const size = read.data?.size ?? null;
  return (
    <section aria-label="File" className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1.5 md:px-4">
        <Button size="small" look="ghost" onClick={onClose} className="md:hidden">
          <ArrowUp size={13} className="-rotate-90" /> Folder
        </Button>
        <h2 className="min-w-0 flex-1 truncate font-mono text-xs font-medium" title={path}>
          {nameOf(path)}
        </h2>
        <p className="text-2xs text-ink-3 tabular-nums">
          {[size === null ? null : formatBytes(size), text === undefined ? null : plural(lines.length, "line")]
            .filter((part) => part !== null)
            .join(" · ")}
        </p>
        {text !== undefined && <CopyButton text={text} name={path} />}
        <a
          href={address}
          download={nameOf(path)}
          className="inline-flex h-7 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover max-md:h-9"
        >
          <ArrowDownToLine size={13} aria-hidden /> Download
        </a>
      </div>
      {read.isError && (
        <div className="p-4">
          <Problem error={read.error} what="This file could not be read" onRetry={() => void read.refetch()} />
        </div>
      )}
      {read.isPending && <div className="skeleton m-4 h-60" />}
      {isBinary && <Empty text="These bytes are no text. Download the file to look at it." />}
      {text === "" && <Empty text="The file is empty." />}
      {text !== undefined && text !== "" && (
        <VList
          tabIndex={0}
          role="region"
          aria-label={`Content of ${nameOf(path)}`}
          className="min-h-0 flex-1 py-2 font-mono text-xs leading-[1.35rem]"
          data={lines}
        >
          {(line, at) => (
            <div key={at} className="grid grid-cols-[3.5rem_1fr] hover:bg-sunken max-md:grid-cols-[2.5rem_1fr]">
              <span className="pr-3 text-right text-ink-3 tabular-nums select-none">{at + 1}</span>
              <span className="pr-4 break-all whitespace-pre-wrap">{line}</span>
            </div>
          )}
        </VList>
      )}
      {read.data?.isCut === true && (
        <p className="border-t border-line px-4 py-1.5 text-xs text-ink-3">
          The first megabyte is shown. Download the file to have it whole.
        </p>
      )}
    </section>
  );
}
