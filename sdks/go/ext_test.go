package ext

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"testing"
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

func TestRegisteringANameAgainReplacesIt(t *testing.T) {
	e := New("x", "1")
	e.Command("a", "first", func(string) Response { return Display("first") })
	e.Command("a", "second", func(string) Response { return Display("second") })
	s := &server{Extension: e}
	if got := s.command("a")("").frame.Display; got != "second" || len(e.commands) != 1 {
		t.Errorf("%q %d", got, len(e.commands))
	}
}
