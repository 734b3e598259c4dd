// A provider of OpenID Connect on loopback: the package oidc-provider as it comes, with its own pages for logging
// in. `node provider.mjs PATH_OF_THE_PACKAGE PORT ADDRESS_OF_THE_CONSOLE`; it writes a line once it listens.

import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [, , home, port, page] = process.argv;
const { Provider } = await import(pathToFileURL(`${home}/lib/index.js`).href);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "runlore", client_secret: "a secret of the client", redirect_uris: [page] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  // Whoever logs in is who they say; nobody has looked at the address of mallory.
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: id !== "mallory" }),
  }),
  pkce: { required: () => true },
});
createServer(provider.callback()).listen(Number(port), "127.0.0.1", () => process.stdout.write("listening\n"));
process.stdin.on("end", () => process.exit()).resume();
