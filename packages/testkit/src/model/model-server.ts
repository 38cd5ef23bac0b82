/** A server whose vendor is a model that is played; both are started once per file. */
import { startTestServer, test, type TestServer, type TestServerOptions } from "../server.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";

export const extendByModel = (toOptions: (model: ScriptedModel) => TestServerOptions) =>
  test.extend<{ $file: { model: ScriptedModel; server: TestServer } }>({
    model: [
      async ({}, use) => {
        await using model = await startScriptedModel({ isTurn: () => true });
        await use(model);
      },
      { scope: "file" },
    ],
    server: [
      async ({ model }, use) => {
        await using server = await startTestServer(toOptions(model));
        await use(server);
      },
      { scope: "file" },
    ],
  });
