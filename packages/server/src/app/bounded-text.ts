/** Bytes of a program as text: bounded, and marked where it is not what was written. */

export interface BoundedText {
  write(chunk: Uint8Array): void;
  end(): { readonly text: string; readonly isTruncated: boolean; readonly isLossy: boolean };
}

/** Whether the bytes are UTF-8 up to a character that the end may have cut. */
function isExact(bytes: Uint8Array, mayEndInside: boolean): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: mayEndInside });
    return true;
  } catch {
    // Expected: programs write what they like.
    return false;
  }
}

/** Keeps the beginning. What is cut is cut between characters. */
export function openText(limitBytes: number): BoundedText {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let isTruncated = false;
  return {
    write: (chunk) => {
      const room = limitBytes - size;
      if (chunk.length > room) isTruncated = true;
      if (room <= 0 || chunk.length === 0) return;
      const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
      chunks.push(kept);
      size += kept.length;
    },
    end: () => {
      const bytes = Buffer.concat(chunks);
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: isTruncated });
      return { text, isTruncated, isLossy: !isExact(bytes, isTruncated) };
    },
  };
}
