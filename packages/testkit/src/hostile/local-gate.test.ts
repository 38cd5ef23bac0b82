import { startTestServer } from "../server.ts";
import { describeGate } from "./attack-gate.ts";

describeGate({ name: "local", start: () => startTestServer() });
