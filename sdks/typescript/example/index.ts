// A command and a tool about the weather, made up from the name of the city.

import { Extension, Response } from "zot-ext";

const ext = new Extension("weather", "1.0.0");
const SKIES = ["sun", "rain", "fog", "snow"];

ext.command("weather", "the weather in a city", (args) =>
  Response.prompt(`Tell me the weather in ${args || "Berlin"} in one line.`),
);

ext.tool(
  "weather",
  "The weather in a city for the next days.",
  {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer", default: 1 } },
    required: ["city"],
  },
  ({ city, days = 1 }) => {
    const sum = Buffer.from(city).reduce((total, byte) => total + byte, 0);
    return `${city}: ${SKIES[sum % SKIES.length]} for ${days} day(s)`;
  },
);

await ext.run();
