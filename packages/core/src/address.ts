/** IP addresses by what they lead to. Pure: text in, a kind out. */

export type AddressKind =
  | "public"
  | "private"
  | "loopback"
  | "link_local"
  | "metadata"
  | "multicast"
  | "unspecified"
  /** An IPv6 address that carries an IPv4 one: mapped, compatible, NAT64, 6to4, Teredo. */
  | "embedded"
  | "reserved";

const V4_BYTES = 4;
const V6_GROUPS = 8;

function toV4(text: string): readonly number[] | undefined {
  const parts = text.split(".");
  // Only the canonical form: others read 010.1 or 0x7f.1 as they please.
  if (parts.length !== V4_BYTES || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function toGroups(text: string): readonly number[] | undefined {
  if (text === "") return [];
  const groups = text.split(":");
  const last = groups.at(-1) ?? "";
  const tail = last.includes(".") ? toV4(last) : undefined;
  if (last.includes(".") && tail === undefined) return undefined;
  const hex = tail === undefined ? groups : groups.slice(0, -1);
  if (!hex.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = tail ?? [];
  return [...hex.map((group) => Number.parseInt(group, 16)), ...(tail === undefined ? [] : [a * 256 + b, c * 256 + d])];
}

function toV6(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  const [head, tail] = halves.map(toGroups);
  if (halves.length > 2 || head === undefined) return undefined;
  if (halves.length === 1) return head.length === V6_GROUPS ? toBytes(head) : undefined;
  if (tail === undefined || head.length + tail.length >= V6_GROUPS) return undefined;
  return toBytes([...head, ...Array.from({ length: V6_GROUPS - head.length - tail.length }, () => 0), ...tail]);
}

const toBytes = (groups: readonly number[]) => groups.flatMap((group) => [group >> 8, group & 255]);

/** 4 or 16 bytes; undefined for anything that is no address, zones and brackets included. */
export const toAddressBytes = (text: string): readonly number[] | undefined =>
  text.includes(":") ? toV6(text) : toV4(text);

/** Where cloud providers answer with credentials to whoever asks; the usual one lies in the link-local range. */
const METADATA = ["169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16"];
const METADATA_V6 = ["fd00:ec2::254", "fd20:ce::254"];

const V4_RANGES: readonly (readonly [string, number, AddressKind])[] = [
  ...METADATA.map((address) => [address, 32, "metadata"] as const),
  ["0.0.0.0", 8, "unspecified"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "private"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "link_local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "reserved"],
  ["192.88.99.0", 24, "reserved"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "reserved"],
  ["198.51.100.0", 24, "reserved"],
  ["203.0.113.0", 24, "reserved"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"],
];

const V6_RANGES: readonly (readonly [string, number, AddressKind])[] = [
  ...METADATA_V6.map((address) => [address, 128, "metadata"] as const),
  ["::", 128, "unspecified"],
  ["::1", 128, "loopback"],
  ["::", 96, "embedded"],
  ["::ffff:0:0", 96, "embedded"],
  ["::ffff:0:0:0", 96, "embedded"],
  ["64:ff9b::", 96, "embedded"],
  ["64:ff9b:1::", 48, "embedded"],
  ["2001::", 32, "embedded"],
  ["2002::", 16, "embedded"],
  ["2001::", 23, "reserved"],
  ["2001:db8::", 32, "reserved"],
  ["3fff::", 20, "reserved"],
  ["fc00::", 7, "private"],
  ["fe80::", 10, "link_local"],
  ["fec0::", 10, "private"],
  ["ff00::", 8, "multicast"],
  ["2000::", 3, "public"],
];

interface Range {
  readonly bytes: readonly number[];
  readonly bits: number;
  readonly kind: AddressKind;
}

const RANGES: readonly Range[] = [...V4_RANGES, ...V6_RANGES].map(([address, bits, kind]) => ({
  bytes: toAddressBytes(address) ?? [],
  bits,
  kind,
}));

function isWithin(bytes: readonly number[], range: Range): boolean {
  if (bytes.length !== range.bytes.length) return false;
  return bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, range.bits - index * 8));
    const mask = (0xff << (8 - bits)) & 0xff;
    return (byte & mask) === ((range.bytes[index] ?? 0) & mask);
  });
}

/** The first range decides. Of IPv6 only what is handed out as global unicast is public; what is no address is reserved. */
export function toAddressKind(text: string): AddressKind {
  const bytes = toAddressBytes(text);
  if (bytes === undefined) return "reserved";
  return RANGES.find((range) => isWithin(bytes, range))?.kind ?? (bytes.length === V4_BYTES ? "public" : "reserved");
}

/** Two ways of writing one address are equal. */
export function isSameAddress(one: string, other: string): boolean {
  const [a, b] = [toAddressBytes(one), toAddressBytes(other)];
  return a !== undefined && b !== undefined && a.length === b.length && a.every((byte, index) => byte === b[index]);
}
