/** The address that a server prints and leaves for commands is one that it answers at. */
import { expect, test } from "vitest";
import { openHostCheck } from "./http/host-check.ts";
import { toOwnAddress } from "./own-address.ts";

test.each([
  ["127.0.0.1", "http://127.0.0.1:1"],
  ["10.0.0.7", "http://10.0.0.7:1"],
  ["0.0.0.0", "http://127.0.0.1:1"],
  ["::", "http://[::1]:1"],
  ["fd00::7", "http://[fd00::7]:1"],
])("who listens at %s is spoken to at %s, and that host is served", (host, address) => {
  expect(toOwnAddress(host, 1)).toBe(address);
  const hosts = openHostCheck({ host, publicUrl: undefined, allowedHosts: undefined });
  expect(hosts.isHostServed(new URL(address).host)).toBe(true);
});
