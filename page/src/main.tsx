/** Starts the page: the key of this device, the colours, then the conversation that the address names. */

import { render } from "preact";
import { access, App } from "./app.tsx";
import { listenForKeys } from "./keys.ts";
import { deviceKey, exchangeToken } from "./net/access.ts";
import * as conversation from "./state/conversation.ts";
import { startNotifications } from "./state/notifications.ts";
import { keepInAddress, routed } from "./state/route.ts";
import { loadOverview } from "./state/overview.ts";
import { startTheme } from "./state/theme.ts";

async function start(): Promise<void> {
  const wanted = routed();
  const themed = startTheme();
  const fault = await exchangeToken();
  access.value = { isPaired: deviceKey() !== "", fault };
  await themed;
  render(<App />, document.getElementById("page") as HTMLElement);
  listenForKeys();
  startNotifications();
  keepInAddress(conversation.name);
  if (!access.value.isPaired) return;
  if (wanted) conversation.join({ conversation: wanted });
  await loadOverview(wanted === "");
}

void start();
