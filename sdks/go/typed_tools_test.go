package ext

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

type search struct {
	Text   string   `desc:"what to find"`
	MaxHit int      `json:"max_hits,omitempty"`
	In     []string `json:",omitempty"`
	URL    *string
	hidden int
}

// ext2-159: a handler's struct is the schema the model sees.
func TestToolFuncMakesTheSchemaOfAStruct(t *testing.T) {
	e := New("x", "1")
	e.ToolFunc("find", "Finds.", func(_ *Context, in search) (any, error) { return in.Text, nil }, TimeoutS(9), With("label", "Find"))
	frame := e.tools[0].frame
	want := `{"properties":{"in":{"items":{"type":"string"},"type":"array"},"max_hits":{"type":"integer"},` +
		`"text":{"description":"what to find","type":"string"},"url":{"type":"string"}},"required":["text"],"type":"object"}`
	if string(frame.Schema) != want {
		t.Errorf("%s", frame.Schema)
	}
	if frame.TimeoutS != 9 || frame.Label != "Find" || frame.Name != "find" {
		t.Errorf("%+v", frame)
	}
	_ = search{}.hidden
}

func TestToolFuncChecksArguments(t *testing.T) {
	e := New("x", "1")
	e.ToolFunc("find", "Finds.", func(_ *Context, in search) (any, error) { return map[string]int{"n": len(in.Text)}, nil })
	call := func(args string) ToolResult { return e.tools[0].handler(context.Background(), json.RawMessage(args)) }
	for args, want := range map[string]string{`{}`: "missing argument: text", `[]`: "not an object", `{"text":1}`: "bad arguments"} {
		if got := call(args); !got.IsError || !strings.Contains(got.Content[0].Text, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := call(`{"text":"ab"}`); got.IsError || got.Content[0].Text != `{"n":2}` {
		t.Errorf("%+v", got)
	}
}

func TestToolFuncRejectsAnotherHandler(t *testing.T) {
	crash := (&server{Extension: New("x", "1")}).guarded("test", func() { New("x", "1").ToolFunc("a", "", func() {}) })
	if !strings.Contains(crash, "expected func(*ext.Context, T) (any, error)") {
		t.Error(crash)
	}
}

// ext2-006: before the greeting nothing of this edition is sent, and later nothing this zot does not have.
func TestFramesWaitForTheGreeting(t *testing.T) {
	var sent strings.Builder
	e := New("x", "1")
	e.wire.sink = &sent
	e.Status("a", "one")
	if sent.String() != "" || len(e.held) != 1 {
		t.Error(sent.String())
	}
	e.greeted = true
	e.host.Features = []string{"surfaces"}
	e.Status("a", Line("two ", S("b", "accent")), With("side", "right"))
	e.Key("ctrl+k", "k", func(*Context) (Response, error) { return Noop(), nil })
	want := `{"type":"contribute","kind":"status","name":"a","value":{"line":["two ",{"text":"b","style":"accent"}],"side":"right"}}` + "\n"
	if sent.String() != want {
		t.Error(sent.String())
	}
}
