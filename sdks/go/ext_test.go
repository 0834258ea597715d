package ext

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// ext-146: the names of the protocol's author side exist, and zero decisions allow and change nothing.
func TestTheNamesAnAuthorMeets(t *testing.T) {
	var (
		_ ToolHandler             = func(json.RawMessage) ToolResult { return TextResult("x") }
		_ EventHandler            = func(Event) {}
		_ InterceptHandler        = func(string, json.RawMessage) (bool, string) { return true, "" }
		_ ToolCallHandler         = func(string, json.RawMessage) ToolCallDecision { return ToolCallDecision{} }
		_ TurnStartHandler        = func(int) TurnStartDecision { return TurnStartDecision{} }
		_ AssistantMessageHandler = func(string) AssistantMessageDecision { return AssistantMessageDecision{} }
		_ CommandHandler          = func(string) Response { return Noop() }
	)
	if (TurnStartDecision{}).Block || (AssistantMessageDecision{}).Block || (ToolCallDecision{}).Block {
		t.Error("a zero decision blocks")
	}
}

func TestBlocksAndResults(t *testing.T) {
	want := ToolContent{Type: "image", MimeType: "image/png", Data: "aGk="}
	if got := ImageBytes("image/png", []byte("hi")); got != want {
		t.Errorf("%+v", got)
	}
	if got := TextErrorResult("no"); !got.IsError || !reflect.DeepEqual(got.Content, []ToolContent{Text("no")}) {
		t.Errorf("%+v", got)
	}
	if got := MarkdownResult("*a*").Content[0].Format; got != "markdown" {
		t.Errorf("%q", got)
	}
}

func TestCallToolFailsAtOnceWithoutTheHostsOffer(t *testing.T) {
	_, err := New("x", "1").CallTool(context.Background(), "bash", nil)
	if !errors.Is(err, ErrNoCallTool) {
		t.Error(err)
	}
}

func TestAHandlerThatEndsItsGoroutineCountsAsCrashed(t *testing.T) {
	s := &server{Extension: New("x", "1")}
	if crash := s.guarded("test", runtime.Goexit); crash == "" {
		t.Error("the end of the goroutine went unnoticed")
	}
	if crash := s.guarded("test", func() { panic("") }); crash == "" {
		t.Error("an empty panic went unnoticed")
	}
}

func TestANameIsGivenOnceAndTheErrorNamesBothPlaces(t *testing.T) {
	e := New("x", "1")
	nothing := func(string) Response { return Noop() }
	no := func(json.RawMessage) ToolResult { return TextResult("") }
	e.Command("a", "first", nothing)
	e.Tool("a", "a tool may have the name of a command", nil, no)
	for name, again := range map[string]func(){
		`command "A"`: func() { e.Command("A", "second", nothing) },
		`tool "a"`:    func() { e.DeferredTool("a", "second", nil, no) },
	} {
		crash := (&server{Extension: e}).guarded("test", again)
		if !strings.HasPrefix(crash, name+" is registered twice, at ext_test.go:") || strings.Count(crash, "ext_test.go:") != 2 {
			t.Errorf("%q", crash)
		}
	}
	e.Command("b", "the extension lives on", nothing)
}

func TestInterceptorsAreAChain(t *testing.T) {
	args := func(text string) wire.EventIntercept {
		return wire.EventIntercept{Event: "tool_call", ToolName: "bash", ToolArgs: json.RawMessage(text)}
	}
	e := New("x", "1")
	e.InterceptToolCallX(func(_ string, args json.RawMessage) ToolCallDecision {
		args[1] = '_' // what it does to its bytes is its own affair
		return ToolCallDecision{ModifiedArgs: json.RawMessage(`{"n":2}`)}
	})
	e.InterceptToolCall(func(_ string, args json.RawMessage) (bool, string) {
		return string(args) == `{"n":2}`, "the second saw " + string(args)
	})
	if got := decide(nil, args(`{"n":1}`), e.interceptors["tool_call"]); got.Block || string(got.ModifiedArgs) != `{"n":2}` {
		t.Errorf("%+v", got)
	}
	e.InterceptToolCall(func(string, json.RawMessage) (bool, string) { return false, "the third refuses" })
	e.InterceptToolCall(func(string, json.RawMessage) (bool, string) { t.Error("asked after a refusal"); return true, "" })
	if got := decide(nil, args(`{"n":1}`), e.interceptors["tool_call"]); !got.Block || got.Reason != "the third refuses" || got.ModifiedArgs != nil {
		t.Errorf("%+v", got)
	}
}
