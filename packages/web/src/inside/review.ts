/** Comments on changed lines, kept until they are sent to the agent as one message; and those that were sent, to see what came of them. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export interface ReviewComment {
  readonly id: number;
  readonly path: string;
  /** Of the file after the change; null for the file as a whole, or a line that is gone. */
  readonly line: number | null;
  /** The line as it stood there. */
  readonly quote: string;
  readonly note: string;
}

type Comments = Readonly<Record<string, readonly ReviewComment[]>>;
const NONE: readonly ReviewComment[] = [];

/** Half a review outlives a reload, as every draft does. */
const useComments = create<Comments>()(persist((): Comments => ({}), { name: "drover.comments" }));

export const useReview = (sandboxId: string): readonly ReviewComment[] =>
  useComments((comments) => comments[sandboxId] ?? NONE);

function change(sandboxId: string, rewrite: (comments: readonly ReviewComment[]) => readonly ReviewComment[]): void {
  const { [sandboxId]: before = NONE, ...others } = useComments.getState();
  const after = rewrite(before);
  useComments.setState(after.length === 0 ? others : { ...others, [sandboxId]: after }, true);
}

export const addComment = (sandboxId: string, comment: Omit<ReviewComment, "id" | "note">): void =>
  change(sandboxId, (comments) => [
    ...comments,
    { ...comment, id: Math.max(0, ...comments.map(({ id }) => id)) + 1, note: "" },
  ]);

export const writeComment = (sandboxId: string, id: number, note: string): void =>
  change(sandboxId, (comments) => comments.map((comment) => (comment.id === id ? { ...comment, note } : comment)));

export const dropComment = (sandboxId: string, id: number): void =>
  change(sandboxId, (comments) => comments.filter((comment) => comment.id !== id));

/** Where it stood, as far as others still stand there. */
export const putBack = (sandboxId: string, comment: ReviewComment): void =>
  change(sandboxId, (comments) => [...comments, comment].toSorted((one, other) => one.id - other.id));

export const clearReview = (sandboxId: string): void => change(sandboxId, () => NONE);

export interface SentComment extends Omit<ReviewComment, "id" | "quote"> {
  /** sandbox_seq of the newest event when it was sent. */
  readonly seq: number;
}

const KEPT_RUNS = 50;

/** By sandbox, in this browser. */
const useSentComments = create<Readonly<Record<string, readonly SentComment[]>>>()(
  persist(() => ({}), { name: "drover.reviews" }),
);
const NONE_SENT: readonly SentComment[] = [];

export const useSent = (sandboxId: string): readonly SentComment[] =>
  useSentComments((sent) => sent[sandboxId] ?? NONE_SENT);

export function keepSent(sandboxId: string, comments: readonly ReviewComment[], seq: number): void {
  const { [sandboxId]: before = NONE_SENT, ...others } = useSentComments.getState();
  const sent = comments.map(({ path, line, note }) => ({ path, line, note: note.trim(), seq }));
  const kept = [...Object.entries(others), [sandboxId, [...before, ...sent]] as const].slice(-KEPT_RUNS);
  useSentComments.setState(Object.fromEntries(kept), true);
}

export const forgetSent = (sandboxId: string): void => {
  useSentComments.setState({ [sandboxId]: NONE_SENT });
};

/** One message of all comments, each with its place and what stands there. */
export const toReviewMessage = (comments: readonly ReviewComment[]): string =>
  [
    "Comments on your changes:",
    ...comments.map(({ path, line, quote, note }) =>
      [`${path}${line === null ? "" : `:${line}`}`, ...(quote.trim() === "" ? [] : [`> ${quote}`]), note.trim()].join(
        "\n",
      ),
    ),
  ].join("\n\n");
