/** The frames of a control connection, apart from their schemas: a supervisor that loads none starts in half the time. */

export const CONTROL_FRAME = {
  request: 1,
  stdout: 2,
  stderr: 3,
  exit: 4,
  stdin: 5,
  stdinEnd: 6,
  resize: 7,
  refused: 8,
} as const;

export const CONTROL_HEADER_BYTES = 5;
export const CONTROL_FRAME_LIMIT_BYTES = 1024 * 1024;
