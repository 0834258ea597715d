// __NAME__: a model provider. Try it with `zot --ext . --model __NAME__/echo`; test it with `go test .`.
package main

import (
	"fmt"
	"strings"

	ext "github.com/zot-agent/zot/sdks/go"
)

func main() {
	e := ext.New("__NAME__", "0.1.0")
	models := []ext.Params{{"id": "echo", "name": "Echo", "context_window": 32_000, "max_output": 4_000}}
	e.Provider("__NAME__", ext.Params{"title": "__NAME__", "models": models}, ext.ProviderHandlers{Stream: stream})
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}

// stream is one model call: it emits pieces of text, and returns how it stopped and what it used.
func stream(ctx *ext.Context, call ext.Params, emit func(event any)) (ext.StreamEnd, error) {
	if call.Text("model") != "echo" {
		return ext.StreamEnd{}, &ext.RequestError{Code: "not_found", Message: "no model " + call.Text("model")}
	}
	words := strings.Fields(strings.ToUpper(lastText(call)))
	for _, word := range words {
		if ctx.Err() != nil { // zot cancelled it
			return ext.StreamEnd{}, ctx.Err()
		}
		emit(ext.ProviderText(word + " "))
	}
	usage := map[string]int{"input_tokens": len(words), "output_tokens": len(words)}
	return ext.StreamEnd{Stop: "end_turn", Usage: usage}, nil
}

func lastText(call ext.Params) (text string) {
	messages, _ := call["messages"].([]any)
	for _, each := range messages {
		message, _ := each.(map[string]any)
		if message["role"] != "user" {
			continue
		}
		text = ""
		blocks, _ := message["content"].([]any)
		for _, block := range blocks {
			if said, ok := block.(map[string]any)["text"]; ok {
				text += fmt.Sprint(said) + " "
			}
		}
	}
	return text
}
