// One tool: the weather of a city, computed from a hash of its name. The same city always has the same weather, which
// makes it a good partner for trying out prompts and tests without a network.
package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	ext "github.com/zot-agent/zot/sdks/go"
)

var schema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"city": {"type": "string", "description": "the name of the city"},
		"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}
	},
	"required": ["city"]
}`)

var skies = []string{"sunny", "cloudy", "rain", "fog", "snow", "wind"}

type arguments struct {
	City string
	Unit string
}

func weather(raw json.RawMessage) ext.ToolResult {
	var args arguments
	if err := json.Unmarshal(raw, &args); err != nil {
		return ext.TextErrorResult("bad arguments: " + err.Error())
	}
	city := strings.TrimSpace(args.City)
	if city == "" {
		return ext.TextErrorResult("city must not be empty")
	}
	degrees, sky := forecast(city)
	if args.Unit == "fahrenheit" {
		return ext.TextResult(fmt.Sprintf("%s: %d°F, %s", city, degrees*9/5+32, sky))
	}
	return ext.TextResult(fmt.Sprintf("%s: %d°C, %s", city, degrees, sky))
}

func forecast(city string) (degrees int, sky string) {
	hash := fnv.New32a()
	hash.Write([]byte(strings.ToLower(city)))
	sum := hash.Sum32()
	return int(sum%41) - 5, skies[sum/41%uint32(len(skies))]
}

func main() {
	e := ext.New("weather", "1.0.0")
	e.Tool("weather", "The current weather of a city.", schema, weather)
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}
