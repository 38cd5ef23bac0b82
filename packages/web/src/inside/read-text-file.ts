/** The beginning of a file of a sandbox as text; what is no text is not shown as one. */
const SHOWN_BYTES = 1_000_000;
const SNIFFED_BYTES = 8_000;

export interface TextFile {
  /** Null: these bytes are no text. */
  readonly text: string | null;
  readonly isCut: boolean;
  /** Null: the server did not say. */
  readonly size: number | null;
}

export async function readTextFile(response: Response): Promise<TextFile> {
  const length = response.headers.get("content-length");
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value.subarray(0, SHOWN_BYTES - size));
    isCut = size + value.length > SHOWN_BYTES;
    size = Math.min(SHOWN_BYTES, size + value.length);
    if (isCut) {
      await reader.cancel();
      break;
    }
  }
  const bytes = new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
  const isText = !bytes.subarray(0, SNIFFED_BYTES).includes(0);
  return {
    text: isText ? new TextDecoder().decode(bytes) : null,
    isCut,
    size: length === null ? (isCut ? null : size) : Number(length),
  };
}
