package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const ack = `{"type":"hello_ack","protocol_version":1,"edition":2,"features":["request","contribute","progress",` +
	`"intercept2","dialogs","surfaces","providers","state"]}`

// The test plays zot against this extension: frames.json has the frames and what must come back.
func TestItAnswersAsFramesJSONSays(t *testing.T) {
	var play struct {
		Frames   []json.RawMessage
		Expected []string
	}
	text, err := os.ReadFile("frames.json")
	if err == nil {
		err = json.Unmarshal(text, &play)
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{ack}
	for _, frame := range play.Frames {
		lines = append(lines, strings.ReplaceAll(string(frame), "\n", " "))
	}
	run := exec.Command("go", "run", ".")
	run.Stdin = strings.NewReader(strings.Join(append(lines, `{"type":"shutdown"}`), "\n") + "\n")
	answers, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range play.Expected {
		if !strings.Contains(string(answers), expected) {
			t.Errorf("no %s in:\n%s", expected, answers)
		}
	}
}
