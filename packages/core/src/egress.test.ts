import { describe, expect, test } from "vitest";
import { toAddressKind } from "./address.ts";
import {
  decideAddresses,
  decideTarget,
  toEgressRule,
  toHost,
  toRegistryRule,
  toTarget,
  type EgressPolicy,
} from "./egress.ts";
import { emptyTally, foldEgress, pickTold } from "./egress-tally.ts";

const PORTS = [443, 80];
const rule = (text: string, mayBePrivate = false) => {
  const made = toEgressRule(text, PORTS, mayBePrivate);
  if (made === undefined) throw new Error(`${text} is no rule`);
  return made;
};
const policy = (network: EgressPolicy["network"], ...rules: EgressPolicy["rules"]): EgressPolicy => ({
  network,
  rules,
  openPorts: PORTS,
  own: { addresses: ["198.41.0.4", "10.1.2.3", "2600::7"], port: 18_000 },
});
const reason = (decision: { ok: true } | { ok: false; reason: string }) => (decision.ok ? "allowed" : decision.reason);

describe("an address is what it leads to, however it is written", () => {
  test.for([
    ["93.184.216.34", "public"],
    ["2606:2800:220:1::1", "public"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["0.0.0.0", "unspecified"],
    ["::", "unspecified"],
    ["10.0.0.1", "private"],
    ["100.64.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["172.32.0.1", "public"],
    ["192.168.1.1", "private"],
    ["fd12::1", "private"],
    ["fec0::1", "private"],
    ["169.254.1.1", "link_local"],
    ["fe80::1", "link_local"],
    ["169.254.169.254", "metadata"],
    ["168.63.129.16", "metadata"],
    ["fd00:ec2::254", "metadata"],
    ["224.0.0.1", "multicast"],
    ["ff02::1", "multicast"],
    ["255.255.255.255", "reserved"],
    ["::ffff:127.0.0.1", "embedded"],
    ["::ffff:7f00:1", "embedded"],
    ["::ffff:93.184.216.34", "embedded"],
    ["::127.0.0.1", "embedded"],
    ["64:ff9b::7f00:1", "embedded"],
    ["64:ff9b::169.254.169.254", "embedded"],
    ["64:ff9b:1::1", "embedded"],
    ["2002:7f00:1::", "embedded"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "embedded"],
    ["1::", "reserved"],
    ["127.1", "reserved"],
    ["2130706433", "reserved"],
    ["0177.0.0.1", "reserved"],
    ["fe80::1%eth0", "reserved"],
    ["1::2::3", "reserved"],
    ["name", "reserved"],
    ["", "reserved"],
  ] as const)("%s is %s", ([text, kind]) => {
    expect(toAddressKind(text)).toBe(kind);
  });
});

describe("a target is a host and a port, or nothing", () => {
  test.for([
    ["Example.ORG:443", { host: "example.org", port: 443 }],
    ["example.org.:443", { host: "example.org", port: 443 }],
    ["[2606:2800::1]:443", { host: "2606:2800::1", port: 443 }],
    ["1.2.3.4:80", { host: "1.2.3.4", port: 80 }],
    ["example.org", undefined],
    ["example.org:", undefined],
    ["example.org:0", undefined],
    ["example.org:65536", undefined],
    ["example.org:443:443", undefined],
    ["user@example.org:443", undefined],
    ["example.org\r\nHost: x:443", undefined],
    ["example.org\0:443", undefined],
    ["exämple.org:443", undefined],
    ["127.1:80", undefined],
    ["2130706433:80", undefined],
    ["0x7f000001:80", undefined],
    ["0177.0.0.1:80", undefined],
    ["::1:80", undefined],
    ["[::1%lo]:80", undefined],
    ["[example.org]:80", undefined],
    ["*.example.org:80", undefined],
    ["-a.org:80", undefined],
    ["a..org:80", undefined],
    [":80", undefined],
  ] as const)("%j", ([text, target]) => {
    expect(toTarget(text)).toEqual(target);
  });

  test("a name has at most 253 characters", () => {
    expect(toHost(`${"a.".repeat(126)}a`)).toBeDefined();
    expect(toHost(`${"a.".repeat(126)}aa`)).toBeUndefined();
  });
});

describe("the list is matched by name and port", () => {
  const listed = policy(
    "allowlist",
    rule("example.org"),
    rule("*.mirror.test"),
    rule("odd.test:8443"),
    rule("1.2.3.4"),
  );
  test.for([
    ["example.org:443", "allowed"],
    ["example.org:80", "allowed"],
    ["example.org:22", "port_not_allowed"],
    ["sub.example.org:443", "not_on_the_list"],
    ["notexample.org:443", "not_on_the_list"],
    ["example.org.evil.test:443", "not_on_the_list"],
    ["a.mirror.test:443", "allowed"],
    ["a.b.mirror.test:443", "allowed"],
    ["mirror.test:443", "not_on_the_list"],
    ["evilmirror.test:443", "not_on_the_list"],
    ["odd.test:8443", "allowed"],
    ["odd.test:443", "port_not_allowed"],
    ["1.2.3.4:443", "allowed"],
    ["1.2.3.5:443", "not_on_the_list"],
    ["nonsense", "not_a_host"],
  ] as const)("%s is %s", ([text, outcome]) => {
    expect(reason(decideTarget(listed, toTarget(text)))).toBe(outcome);
  });

  test("open reaches every name, but only on its ports and on those of a rule", () => {
    const open = policy("open", rule("odd.test:8443"));
    expect(reason(decideTarget(open, toTarget("any.test:443")))).toBe("allowed");
    expect(reason(decideTarget(open, toTarget("any.test:22")))).toBe("port_not_allowed");
    expect(reason(decideTarget(open, toTarget("odd.test:8443")))).toBe("allowed");
  });

  test("none reaches nothing", () => {
    expect(reason(decideTarget(policy("none", rule("example.org")), toTarget("example.org:443")))).toBe("no_network");
  });
});

describe("an address is refused in every policy unless it is public", () => {
  const target = { host: "any.test", port: 443 };
  const bad = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fe80::1", "fd12::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"];
  test.for(bad)("%s", (address) => {
    expect(decideAddresses(policy("open"), target, [address]).ok).toBe(false);
    expect(decideAddresses(policy("open"), target, ["93.184.216.34", address]).ok).toBe(false);
  });

  test("the server's own addresses are refused, public ones too", () => {
    expect(reason(decideAddresses(policy("open"), target, ["198.41.0.4"]))).toBe("own_address");
    expect(reason(decideAddresses(policy("open"), target, ["2600:0:0::7"]))).toBe("own_address");
    expect(reason(decideAddresses(policy("open"), target, ["198.41.0.5"]))).toBe("allowed");
  });

  test("no address is no permission", () => {
    expect(reason(decideAddresses(policy("open"), target, []))).toBe("no_address");
  });
});

describe("a host that the operator named may be private, and only on its port", () => {
  const internal = policy("allowlist", rule("mirror.internal", true), rule("local.test:4873", true));
  const at = (host: string, port: number, address: string) =>
    reason(decideAddresses(internal, { host, port }, [address]));
  test("on its own host and port", () => {
    expect(at("mirror.internal", 443, "10.0.0.9")).toBe("allowed");
    expect(at("local.test", 4873, "127.0.0.1")).toBe("allowed");
    expect(at("local.test", 4873, "10.1.2.3")).toBe("allowed");
    expect(at("other.internal", 443, "10.0.0.9")).toBe("private_address");
    expect(at("local.test", 443, "127.0.0.1")).toBe("loopback_address");
  });
  test("never metadata, link-local, mapped addresses or this server", () => {
    expect(at("mirror.internal", 443, "169.254.169.254")).toBe("metadata_address");
    expect(at("mirror.internal", 443, "fe80::1")).toBe("link_local_address");
    expect(at("mirror.internal", 443, "::ffff:10.0.0.9")).toBe("embedded_address");
    const server = policy("allowlist", rule("self.test:18000", true));
    expect(reason(decideAddresses(server, { host: "self.test", port: 18_000 }, ["127.0.0.1"]))).toBe("own_address");
    expect(reason(decideAddresses(server, { host: "self.test", port: 18_000 }, ["10.1.2.3"]))).toBe("own_address");
  });
  test("a wildcard is never private", () => {
    expect(toEgressRule("*.internal", PORTS, true)).toBeUndefined();
  });
  test("a registry's address gives its host and port, without whoever logs in there", () => {
    expect(toRegistryRule("https://name:secret@mirror.internal/npm/", PORTS)).toEqual(rule("mirror.internal", true));
    expect(toRegistryRule("http://localhost:4873/", PORTS)).toEqual(rule("localhost:4873", true));
    expect(toRegistryRule("file:///opt/packages", PORTS)).toBeUndefined();
  });
});

describe("a flood is counted, not written", () => {
  const fact = (host: string) => ({ host, port: 443, decision: "refused" as const, reason: "not_on_the_list" });
  test("the first of a kind is told at once, the rest as a number", () => {
    const first = pickTold(foldEgress(emptyTally(0), fact("a.test")), 0);
    expect(first.told).toEqual([{ ...fact("a.test"), count: 1 }]);
    expect(first.tally.waiting).toEqual([]);
  });
  test("a day of it writes a bounded number of events, and every decision is counted", () => {
    let tally = emptyTally(0);
    let [events, counted, asked, waiting] = [0, 0, 0, 0];
    for (let second = 0; second < 86_400; second += 30) {
      for (let host = 0; host < 5; host += 1) {
        tally = foldEgress(tally, fact(`h${(second * 7 + host) % 1_000}.test`));
        asked += 1;
      }
      const picked = pickTold(tally, second * 1_000);
      tally = picked.tally;
      events += picked.told.length;
      counted += picked.told.reduce((sum, one) => sum + one.count, 0);
      waiting = Math.max(waiting, tally.waiting.length);
    }
    expect(waiting).toBeLessThanOrEqual(53);
    expect(events).toBeLessThan(3_000);
    expect(counted + tally.waiting.reduce((sum, one) => sum + one.count, 0)).toBe(asked);
  });
});
