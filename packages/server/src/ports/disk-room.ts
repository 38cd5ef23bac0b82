/** The disk that this server keeps its own on. */

/** Contract: never waits, so that it can be asked for every event; what it says may be a few seconds old. A disk that cannot be
 *  asked counts as one with room. */
export interface DiskRoom {
  isLittle(): boolean;
}
