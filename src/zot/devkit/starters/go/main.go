// __NAME__: an extension for zot. Try it with `zot --ext .`; test it with `go test .`.
package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	ext "github.com/zot-agent/zot/sdks/go"
)

const schema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`

func count(text string) string {
	return fmt.Sprintf("%d words, %d characters", len(strings.Fields(text)), utf8.RuneCountInString(text))
}

func tool(args json.RawMessage) ext.ToolResult {
	var given struct{ Text string }
	if err := json.Unmarshal(args, &given); err != nil {
		return ext.TextErrorResult("bad arguments: " + err.Error())
	}
	return ext.TextResult(count(given.Text))
}

func command(args string) ext.Response {
	if args == "" {
		return ext.Display("usage: /__NAME__ TEXT")
	}
	return ext.Display(count(args))
}

// zot:guard
// Called before every tool call. If it fails, the call is denied.
func guard(tool string, args json.RawMessage) (bool, string) {
	var given struct{ Command string }
	if tool == "bash" && (json.Unmarshal(args, &given) != nil || strings.Contains(given.Command, "rm -rf")) {
		return false, "refused by __NAME__: rm -rf"
	}
	return true, ""
}

// zot:end
func main() {
	e := ext.New("__NAME__", "0.1.0")
	e.Command("__NAME__", "count the words of a text", command)
	e.Tool("__TOOL__", "Count the words and characters of a text.", json.RawMessage(schema), tool)
	// zot:guard
	e.InterceptToolCall(guard)
	// zot:end
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}
