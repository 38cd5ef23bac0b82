/** Whether somebody is logged in here, as far as the page knows: the cookie itself is hidden from it. */
import { forgetEarlyReplies } from "./early-replies.ts";

const MARK = "drover.session";

interface Session {
  /** Told when the server no longer knows this browser. */
  onLost: () => void;
  wasHere(): boolean;
  enter(): void;
  leave(): void;
}

export const session: Session = {
  onLost: () => {},
  wasHere: () => localStorage.getItem(MARK) !== null,
  enter: () => localStorage.setItem(MARK, "1"),
  leave: () => {
    forgetEarlyReplies();
    localStorage.removeItem(MARK);
  },
};
