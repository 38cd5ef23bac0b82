/** The client that every example begins with: which server, and as whom. */
import { createClient, type Client } from "@drover/client";

export function connect(): Client {
  const { DROVER_URL: baseUrl = "http://127.0.0.1:18000", DROVER_TOKEN: token } = process.env;
  if (token === undefined) {
    console.error("Set DROVER_TOKEN: npm run drover -- token create example --role operator");
    process.exit(1);
  }
  return createClient({ baseUrl, token });
}
