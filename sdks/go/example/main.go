// Command weather is an extension with a command and a tool about the weather, made up from the name of the city.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	ext "github.com/zot-agent/zot/sdks/go"
)

var skies = []string{"sun", "rain", "fog", "snow"}

var schema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},` +
	`"days":{"type":"integer","default":1}},"required":["city"]}`)

func main() {
	e := ext.New("weather", "1.0.0")
	e.Command("weather", "the weather in a city", func(args string) ext.Response {
		if args == "" {
			args = "Berlin"
		}
		return ext.Prompt("Tell me the weather in " + args + " in one line.")
	})
	e.Tool("weather", "The weather in a city for the next days.", schema, weather)
	if err := e.Run(); err != nil {
		e.Logf("fatal: %v", err)
		os.Exit(1)
	}
}

func weather(args json.RawMessage) ext.ToolResult {
	in := struct {
		City string `json:"city"`
		Days int    `json:"days"`
	}{Days: 1}
	if err := json.Unmarshal(args, &in); err != nil {
		return ext.TextErrorResult("bad arguments: " + err.Error())
	}
	sum := 0
	for _, b := range []byte(in.City) {
		sum += int(b)
	}
	return ext.TextResult(fmt.Sprintf("%s: %s for %d day(s)", in.City, skies[sum%len(skies)], in.Days))
}
