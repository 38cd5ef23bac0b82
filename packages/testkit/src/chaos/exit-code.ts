/** Exit code of a worker under test that ended while events were only in its journal. */
export const UNSENT = 9;
