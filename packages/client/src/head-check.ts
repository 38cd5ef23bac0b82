/** Decides from the server's head whether the last frame of an unfiltered stream was lost. */

export class HeadCheck {
  /** The cursor at which the head was found ahead. */
  private suspectAt: number | undefined;
  private reopenedAt: number | undefined;
  /** Off once a reopen brought nothing: then events of other projects move the head, and it proves no hole. */
  private isUseful = true;

  /** Events may still be on their way when the head is told, so only a cursor that stands still for two answers counts. */
  compare(head: number, cursor: number, lastSeq: number): "fine" | "ask-again" | "reopen" {
    if (!this.isUseful || head <= cursor) {
      this.suspectAt = undefined;
      return "fine";
    }
    if (this.suspectAt !== cursor) {
      this.suspectAt = cursor;
      return "ask-again";
    }
    this.suspectAt = undefined;
    this.reopenedAt = lastSeq;
    return "reopen";
  }

  synced(lastSeq: number): void {
    if (this.reopenedAt !== undefined && lastSeq === this.reopenedAt) this.isUseful = false;
    this.reopenedAt = undefined;
  }
}
