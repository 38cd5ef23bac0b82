/** Ends a race: who is chosen stays as it is, the other one is terminated after a question; its log and its branch stay. */
import { TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Trophy } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { queryClient, sandboxQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/confirm.tsx";
import { notify } from "../ui/notify.ts";
import { findWinner, isRace } from "./race.ts";

interface ChooseWinnerProps {
  /** A or B. */
  readonly name: string;
  readonly winner: Sandbox;
  readonly loser: Sandbox;
}

export function ChooseWinner({ name, winner, loser }: ChooseWinnerProps) {
  const [isAsking, setAsking] = useState(false);
  const other = name === "A" ? "B" : "A";
  const choose = useMutation({
    mutationFn: () => client.terminateSandbox({ params: { sandbox_id: loser.id } }),
    onSuccess: (ended) => {
      queryClient.setQueryData(sandboxQuery(ended.id).queryKey, ended);
      void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
      notify.good(`${name} was chosen, ${other} is terminated`);
    },
    onError: (error) => notify.bad(`${other} was not ended: ${error.message}`),
  });
  if (!isRace(winner, loser) || winner.state === "terminated" || TERMINAL_SANDBOX_STATES.has(loser.state)) return null;
  return (
    <>
      <Button size="small" disabled={choose.isPending} onClick={() => setAsking(true)}>
        <Trophy size={13} /> Choose {name}
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => choose.mutate()}
        title={`Choose ${name}, and end ${other}?`}
        text={`${other}'s worker is stopped and its token revoked; it cannot be started again. Its log and its branch stay, to be compared and replayed. ${name} stays as it is.`}
        verb={`End ${other}`}
      />
    </>
  );
}

/** What was decided, and the way on: the winner's branch. */
export function Winner({ a, b }: { readonly a: Sandbox; readonly b: Sandbox }) {
  const winner = findWinner(a, b);
  if (winner === undefined) return null;
  return (
    <p
      role="status"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-live-soft px-3 py-2 text-sm text-live-ink md:px-5"
    >
      <Trophy size={14} aria-hidden /> {winner === a ? "A" : "B"} was chosen.
      <Link
        to="/sandboxes/$sandboxId"
        params={{ sandboxId: winner.id }}
        search={{ tab: "git" }}
        className="font-medium underline underline-offset-2"
      >
        Its branch and commits
      </Link>
    </p>
  );
}
