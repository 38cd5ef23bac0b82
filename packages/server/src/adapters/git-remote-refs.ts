/** Asks a repository for its branches by `git ls-remote`, at an address that was judged before. */
import { isIP } from "node:net";
import { AppError } from "@drover/contract";
import type { NameResolver } from "../ports/egress.ts";
import type { RemoteAnswer, RemoteListing, RemoteRefs } from "../ports/remote-refs.ts";
import { runGit, toSecretSettings } from "./git/run-git.ts";

const TIME_LIMIT_MS = 8_000;
const ANSWER_BYTES = 4 * 1024 * 1024;
const AT_ONCE = 4;

interface Target {
  readonly host: string;
  readonly port: number;
}

/** Where an address leads. `target` is missing where its host is none. */
export type RemotePlace =
  | { readonly kind: "local"; readonly path: string }
  | { readonly kind: "http"; readonly url: URL; readonly target: Target | undefined };

export interface RemoteJudge {
  /** Undefined: an address that is not asked beforehand. */
  locate(repo: string): RemotePlace | undefined;
  /** Why this host and port are refused, before its name is looked up. */
  complainOfTarget(target: Target | undefined): string | undefined;
  complainOfAddresses(target: Target, addresses: readonly string[]): string | undefined;
}

export interface RemoteRefsOptions {
  readonly resolver: NameResolver;
  readonly judge: RemoteJudge;
  readonly timeLimitMs?: number;
}

function parseListing(text: string): RemoteListing {
  const [, head = null] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(text) ?? [];
  const branches = [...text.matchAll(/^[0-9a-f]{40,64}\trefs\/heads\/(.+)$/gm)].map(([, name = ""]) => name);
  return { defaultBranch: head !== null && branches.includes(head) ? head : (branches[0] ?? null), branches };
}

/** Byte for byte; what is no escape stands for itself, as Git reads it. */
const decodeEscapes = (text: string) =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** However Git looks the name up again, it finds what was judged; and it is not led elsewhere. */
function toSettings(url: URL, { host, port }: Target, addresses: readonly string[]): Record<string, string> {
  const dialled = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(",");
  const login = `${decodeEscapes(url.username)}:${decodeEscapes(url.password)}`;
  return {
    "http.followRedirects": "false",
    "http.proxy": "",
    ...(isIP(host) === 0 ? { "http.curloptResolve": `${host}:${port}:${dialled}` } : {}),
    ...(login === ":"
      ? {}
      : { "http.extraHeader": `Authorization: Basic ${Buffer.from(login, "latin1").toString("base64")}` }),
  };
}

export function openRemoteRefs({ resolver, judge, timeLimitMs = TIME_LIMIT_MS }: RemoteRefsOptions): RemoteRefs {
  let underWay = 0;

  const ask = async (source: string, settings: Record<string, string>, signal: AbortSignal): Promise<RemoteAnswer> => {
    const { stdout, isCut } = await runGit(
      {
        args: ["ls-remote", "--symref", "--", source, "HEAD", "refs/heads/*"],
        env: toSecretSettings(settings),
        timeoutMs: timeLimitMs,
        limitBytes: ANSWER_BYTES,
      },
      signal,
    );
    if (isCut) return { status: "unchecked", detail: "it has more branches than are looked at" };
    return { status: "listed", ...parseListing(stdout.toString("utf8")) };
  };

  const askJudged = async (url: URL, target: Target | undefined, signal: AbortSignal): Promise<RemoteAnswer> => {
    const complaint = judge.complainOfTarget(target);
    if (target === undefined || complaint !== undefined)
      return { status: "refused", detail: complaint ?? "it names no host" };
    const addresses = await resolver.resolve(target.host, AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]));
    if (addresses.length === 0) return { status: "unreachable", detail: `nobody knows the host ${target.host}` };
    const refusal = judge.complainOfAddresses(target, addresses);
    if (refusal !== undefined) return { status: "refused", detail: refusal };
    const bare = new URL(url);
    bare.username = "";
    bare.password = "";
    if (isIP(target.host) === 0) bare.hostname = target.host;
    return ask(bare.href, toSettings(url, target, addresses), signal);
  };

  const look = (repo: string, signal: AbortSignal): Promise<RemoteAnswer> => {
    const place = judge.locate(repo);
    if (place?.kind === "local") return ask(`file://${place.path}`, {}, signal);
    if (place === undefined)
      return Promise.resolve({ status: "unchecked", detail: "only http addresses are asked beforehand" });
    return askJudged(place.url, place.target, signal);
  };

  return {
    list: async (repo, signal) => {
      if (underWay >= AT_ONCE) return { status: "unchecked", detail: "too many are being asked at this moment" };
      underWay += 1;
      try {
        return await look(repo, signal);
      } catch (error) {
        signal.throwIfAborted();
        // Expected: nobody answers there, it wants a login, it is no repository, or it takes too long.
        if (error instanceof AppError) return { status: "unreachable", detail: error.message };
        throw error;
      } finally {
        underWay -= 1;
      }
    },
  };
}
