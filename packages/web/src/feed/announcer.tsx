/** Tells a screen reader what happens, at most every five seconds; failures and questions at once. */
import type { FeedView } from "@drover/contract/views";
import { useEffect, useRef, useState } from "react";
import { plural } from "../data/format.ts";

const EVERY_MS = 5_000;

export function Announcer({ view, state }: { readonly view: FeedView; readonly state: string }) {
  const [said, setSaid] = useState("");
  const latest = useRef(view);
  const told = useRef({ seq: 0, files: 0 });
  useEffect(() => {
    latest.current = view;
  }, [view]);
  useEffect(() => {
    const timer = setInterval(() => {
      const { lastSeq, files } = latest.current;
      const events = lastSeq - told.current.seq;
      const edited = files.size - told.current.files;
      if (events > 0 && told.current.seq > 0)
        setSaid(`${plural(events, "event")}${edited > 0 ? `, ${plural(edited, "file")} edited` : ""}`);
      told.current = { seq: lastSeq, files: files.size };
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const last = view.rows.at(-1);
  const isWaiting = last?.kind === "permission" && last.answer === null;
  return (
    <>
      <p className="sr-only" aria-live="polite">
        {said}
      </p>
      <p className="sr-only" aria-live="assertive">
        {state === "failed" ? "The sandbox has failed" : isWaiting ? "The agent asks for permission" : ""}
      </p>
    </>
  );
}
