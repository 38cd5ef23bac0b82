/** The message box: Enter sends, Shift+Enter breaks the line; a draft is kept per sandbox. */
import { MESSAGE_LIMIT_CHARACTERS, TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { toCause } from "@drover/contract/views";
import { CornerDownLeft, Hand, SendHorizontal } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useKeys } from "../app/keys.ts";
import { keepDraft, readDraft, sendMessage } from "../data/outbox.ts";
import { formatCount } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Choice } from "../ui/field.tsx";
import { Kbd } from "../ui/kbd.tsx";

type Mode = "steer" | "queue" | "interrupt";
const MODES: readonly { readonly value: Mode; readonly label: string }[] = [
  { value: "steer", label: "Now" },
  { value: "queue", label: "Next turn" },
  { value: "interrupt", label: "Interrupt" },
];
const NOTES: Readonly<Record<Mode, string>> = {
  steer: "Reaches the agent before its next action.",
  queue: "Waits until this turn has ended.",
  interrupt: "Stops the turn that runs; the session is kept.",
};
const PAUSED_NOTE = "The sandbox is paused: this waits until it goes on.";
const INTERRUPT_TEXT = "Stop and wait for my next message.";

interface ComposerProps {
  readonly sandbox: Sandbox;
  readonly mayOperate: boolean;
  readonly head: number;
  /** Somebody is about to write. */
  readonly hasFocus?: boolean;
  /** What they are about to write. */
  readonly first?: Mode;
}

export function Composer({ sandbox, mayOperate, head, hasFocus = false, first = "steer" }: ComposerProps) {
  const [text, setText] = useState(() => readDraft(sandbox.id));
  const [mode, setMode] = useState<Mode>(first);
  const [isAsked, setAsked] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => keepDraft(sandbox.id, text), [sandbox.id, text]);
  const isOver = TERMINAL_SANDBOX_STATES.has(sandbox.state);
  const reason = isOver
    ? `The sandbox has ${sandbox.state === "failed" ? "failed" : `been ${sandbox.state}`}${sandbox.state_cause === null ? "" : ` (${toCause(sandbox.state_cause)})`}: nobody is left to read a message.`
    : mayOperate
      ? undefined
      : "Your role may watch this run, but not write to it.";
  const write = (next: Mode) => () => {
    setMode(next);
    field.current?.focus();
  };
  useKeys(reason === undefined ? { message: write("steer"), interrupt: write("interrupt") } : {});
  if (reason !== undefined) {
    return (
      <div className="border-t border-line bg-surface px-5 py-3 text-sm text-ink-3" data-testid="composer-closed">
        <p className="min-w-0 text-center text-pretty">{reason}</p>
      </div>
    );
  }
  const content = mode === "interrupt" && text.trim() === "" ? INTERRUPT_TEXT : text.trim();
  const note = sandbox.state === "paused" ? PAUSED_NOTE : NOTES[mode];
  const isTooLong = content.length > MESSAGE_LIMIT_CHARACTERS;
  const canSend = content !== "" && !isTooLong;
  const send = () => {
    if (!canSend) return;
    // An interrupt asks once.
    if (mode === "interrupt" && !isAsked) return setAsked(true);
    sendMessage({
      sandboxId: sandbox.id,
      text: content,
      messageType: mode === "interrupt" ? "interrupt" : "user_message",
      delivery: mode === "queue" ? "queue" : "steer",
      afterSeq: head,
    });
    setText("");
    setMode("steer");
    setAsked(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") return field.current?.blur();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className="@container border-t border-line bg-surface px-3 pt-2.5 pb-3 md:px-5"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div
        className={cx(
          "rounded-xl border bg-raised shadow-card transition-colors focus-within:border-live",
          mode === "interrupt" ? "border-wait" : "border-line-strong",
        )}
      >
        <textarea
          ref={field}
          rows={1}
          autoFocus={hasFocus}
          aria-label={mode === "interrupt" ? "Interrupt" : "Message"}
          placeholder={mode === "interrupt" ? INTERRUPT_TEXT : "Steer the agent…"}
          className="block max-h-52 w-full resize-none field-sizing-content bg-transparent px-3.5 pt-2.5 pb-1 text-[0.9375rem] leading-relaxed text-ink placeholder:text-ink-3 focus-visible:outline-none"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAsked(false);
          }}
          onKeyDown={onKeyDown}
        />
        <div className="flex items-center gap-3 px-2 pb-2">
          <Choice
            label="When it reaches the agent"
            value={mode}
            options={MODES}
            onChange={(next) => {
              setMode(next);
              setAsked(false);
            }}
          />
          <p className={cx("min-w-0 flex-1 truncate text-xs text-ink-3", !isTooLong && "hidden @xl:block")}>
            {isTooLong ? (
              <span className="text-fail-ink">
                {formatCount(content.length)} of {formatCount(MESSAGE_LIMIT_CHARACTERS)} characters
              </span>
            ) : (
              note
            )}
          </p>
          {!isTooLong && <span className="flex-1 @xl:hidden" />}
          <span className="hidden items-center gap-1 text-2xs text-ink-3 @3xl:flex">
            <CornerDownLeft size={11} aria-hidden /> send <Kbd action="message" className="ml-2" /> focus
          </span>
          <Button
            type="submit"
            look={mode === "interrupt" ? "danger" : "solid"}
            size="small"
            disabled={!canSend}
            className="max-md:h-9"
          >
            {mode === "interrupt" ? <Hand size={14} /> : <SendHorizontal size={14} />}
            {mode === "interrupt" ? (isAsked ? "Really interrupt" : "Interrupt") : "Send"}
          </Button>
        </div>
      </div>
    </form>
  );
}
