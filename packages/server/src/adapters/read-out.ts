/**
 * A part of programs that run inside a sandbox beside a command: calls back when all that the command has said is read. Its streams may
 * stay open, because something goes on in the background. What it wrote before it ended stands in the kernel's buffers, in order. So
 * they are empty when a whole turn of the event loop, which looks at every stream that is read, brought nothing; and what came from it is
 * through when more was read than buffers hold, for there may be no such turn while others go on talking. A stream that a slow reader
 * holds up is waited for.
 */
export const READ_OUT = String.raw`
const readOut = (streams, done) => {
  const read = new Map(streams.map((stream) => [stream, 0]));
  for (const stream of streams) stream.on("data", (chunk) => read.set(stream, read.get(stream) + chunk.length));
  const look = (before) => {
    const isHeldUp = streams.some((stream) => !stream.readableEnded && stream.isPaused());
    const sum = [...read.values()].reduce((all, one) => all + one, 0);
    if (isHeldUp) setTimeout(look, 5, -1);
    else if (before === sum || [...read.values()].every((one) => one > 4194304)) done();
    else setImmediate(look, sum);
  };
  setImmediate(look, -1);
};
`;
