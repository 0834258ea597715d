package main

import (
	"os/exec"
	"strings"
	"testing"
)

// play says these frames and goodbye to the extension, as zot does, and gives back what it answered.
func play(t *testing.T, frames ...string) string {
	t.Helper()
	lines := append([]string{`{"type":"hello_ack","protocol_version":1}`}, frames...)
	run := exec.Command("go", "run", ".")
	run.Stdin = strings.NewReader(strings.Join(append(lines, `{"type":"shutdown"}`), "\n") + "\n")
	answers, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(answers)
}

func TestItRegistersACommandAndATool(t *testing.T) {
	answers := play(t)
	for _, frame := range []string{`"type":"hello"`, `"type":"register_command"`, `"type":"register_tool"`, `"type":"shutdown_ack"`} {
		if !strings.Contains(answers, frame) {
			t.Errorf("no %s in:\n%s", frame, answers)
		}
	}
}

func TestTheToolCounts(t *testing.T) {
	answers := play(t, `{"type":"tool_call","id":"1","name":"__TOOL__","args":{"text":"one two three"}}`)
	if !strings.Contains(answers, "3 words, 13 characters") {
		t.Errorf("no count in:\n%s", answers)
	}
}
