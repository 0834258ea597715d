// __NAME__: a status item and a widget. Try it with `zot --ext .`; test it with `go test .`.
package main

import (
	"strconv"
	"sync"

	ext "github.com/zot-agent/zot/sdks/go"
)

var (
	e     = ext.New("__NAME__", "0.1.0")
	mu    sync.Mutex // events, commands and state.save run concurrently
	calls []string
	shown = true
)

func main() {
	e.OnHello(func() {
		e.State(&calls) // what the process before a reload returned from OnStateSave
		draw()
	})
	e.OnStateSave(func() any {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, calls...)
	})
	e.On("tool_call", func(event ext.Event) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, event.ToolName)
		draw()
	})
	e.Command("__NAME__", "show or hide the last tools", func(string) ext.Response {
		mu.Lock()
		defer mu.Unlock()
		shown = !shown
		draw()
		return ext.Noop()
	})
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}

// draw shows the whole: a contribution replaces the one of its name, as often as you like.
func draw() {
	e.Status("calls", ext.Line(ext.S("tools ", "muted"), ext.S(strconv.Itoa(len(calls)), "accent")))
	if !shown || len(calls) == 0 {
		e.Withdraw("widget", "last")
		return
	}
	lines := []any{}
	for _, name := range calls[max(0, len(calls)-3):] {
		lines = append(lines, ext.Line("• ", name))
	}
	e.Widget("last", lines)
}
