package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

var fromChild = map[string]func([]byte) (Frame, error){
	"hello": decode[Hello], "register_command": decode[RegisterCommand], "register_tool": decode[RegisterTool],
	"subscribe": decode[Subscribe], "ready": decode[Ready], "command_response": decode[CommandResponse],
	"tool_result": decode[ToolResult], "event_intercept_response": decode[EventInterceptResponse],
	"notify": decode[Notify], "clear_notes": decode[ClearNotes], "panel_render": decode[PanelRender],
	"panel_close": decode[PanelClose], "open_panel": decode[OpenPanel], "submit": decode[Submit],
	"submit_slash": decode[SubmitSlash], "call_tool": decode[CallTool], "call_tool_cancel": decode[CallToolCancel],
	"request": decode[Request], "response": decode[Response], "progress": decode[Progress], "cancel": decode[Cancel],
	"contribute": decode[Contribute], "withdraw": decode[Withdraw], "shutdown_ack": decode[ShutdownAck],
}

func golden(t *testing.T, to string) []string {
	t.Helper()
	data, err := os.ReadFile("../../../../docs/schema/golden-frames.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, line := range strings.Split(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, `{"to":"`+to+`","frame":`); ok {
			found = append(found, strings.TrimSuffix(rest, "}"))
		}
	}
	return found
}

func typeOf(t *testing.T, line string) string {
	t.Helper()
	var head struct{ Type string }
	if err := json.Unmarshal([]byte(line), &head); err != nil {
		t.Fatal(err)
	}
	return head.Type
}

func TestEveryGoldenFrameToTheHostIsWrittenByteForByte(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range golden(t, "host") {
		name := typeOf(t, line)
		read, known := fromChild[name]
		if !known {
			t.Fatalf("no struct for %s", name)
		}
		seen[name] = true
		frame, err := read([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		made, err := Encode(frame)
		if err != nil || string(made) != line+"\n" {
			t.Errorf("%v\n got %s\nwant %s", err, made, line)
		}
	}
	if len(seen) != len(fromChild) {
		t.Errorf("golden frames for %d of %d types", len(seen), len(fromChild))
	}
}

func TestATypeLeftOutIsFilledIn(t *testing.T) {
	made, err := Encode(Notify{Level: "info", Message: "x"})
	if err != nil || string(made) != `{"type":"notify","level":"info","message":"x"}`+"\n" {
		t.Errorf("%v %s", err, made)
	}
}

func TestEveryGoldenFrameFromTheHostIsReadWhole(t *testing.T) {
	for _, line := range golden(t, "child") {
		frame, err := Decode([]byte(line))
		if err != nil || frame == nil {
			t.Fatalf("%s: %v", line, err)
		}
		made, err := json.Marshal(frame)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		_ = json.Unmarshal([]byte(line), &want)
		_ = json.Unmarshal(made, &got)
		if !reflect.DeepEqual(want, got) {
			t.Errorf("\n got %s\nwant %s", made, line)
		}
	}
}

func TestInvalidTextAndLineSeparatorsAreWrittenRaw(t *testing.T) {
	made, err := Encode(Notify{Message: "a\xffb\u2028\\u2028<&>"})
	want := "{\"type\":\"notify\",\"message\":\"a\ufffdb\u2028\\\\u2028<&>\"}\n"
	if err != nil || string(made) != want {
		t.Errorf("%v\n got %q\nwant %q", err, made, want)
	}
}

func TestWhatIsNotAFrameIsAnErrorAndAnUnknownTypeIsNot(t *testing.T) {
	for _, line := range []string{"", "garbage", "[]", `{"type":1}`, `{"type":"tool_call","id":5}`} {
		if _, err := Decode([]byte(line)); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
	if frame, err := Decode([]byte(`{"type":"from_a_later_host"}`)); frame != nil || err != nil {
		t.Errorf("%v %v", frame, err)
	}
	if frame, err := Decode([]byte(`{"type":"command_invoked","id":"1","name":"x","args":null}` + "\r\n")); err != nil ||
		!bytes.Equal([]byte(frame.(CommandInvoked).Name), []byte("x")) {
		t.Errorf("%v %v", frame, err)
	}
}
