// Package wire holds the frames an extension exchanges with zot, and turns them into lines and back.
package wire

import (
	"bytes"
	"encoding/json"
)

// Frame is anything that goes over the wire.
type Frame interface{ FrameType() string }

// Encode makes one line with its LF: type first, keys in order, raw UTF-8, invalid characters as U+FFFD.
func Encode(frame Frame) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(frame); err != nil {
		return nil, err
	}
	return rawUnicode(withType(line.Bytes(), frame.FrameType())), nil
}

// withType fills in a type left empty, so that callers do not have to write it twice.
func withType(line []byte, name string) []byte {
	rest, empty := bytes.CutPrefix(line, []byte(`{"type":""`))
	if !empty {
		return line
	}
	return append([]byte(`{"type":"`+name+`"`), rest...)
}

// rawUnicode undoes the three escapes encoding/json insists on.
func rawUnicode(line []byte) []byte {
	escapes := map[string]string{`\u2028`: "\u2028", `\u2029`: "\u2029", `\ufffd`: "\ufffd"}
	if !bytes.Contains(line, []byte(`\u202`)) && !bytes.Contains(line, []byte(`\ufffd`)) {
		return line
	}
	made := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' {
			made = append(made, line[i])
			continue
		}
		if i+6 <= len(line) {
			if char, ok := escapes[string(line[i:i+6])]; ok {
				made = append(made, char...)
				i += 5
				continue
			}
		}
		made = append(made, line[i], line[i+1]) // an escape of two characters, a backslash among them
		i++
	}
	return made
}

// Decode reads one line from the host; a nil frame without error has an unknown type.
func Decode(line []byte) (Frame, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case "hello_ack":
		return decode[HelloAck](line)
	case "command_invoked":
		return decode[CommandInvoked](line)
	case "tool_call":
		return decode[ToolCall](line)
	case "tool_cancel":
		return decode[ToolCancel](line)
	case "event":
		return decode[Event](line)
	case "event_intercept":
		return decode[EventIntercept](line)
	case "tool_result":
		return decode[HostToolResult](line)
	case "panel_key":
		return decode[PanelKey](line)
	case "panel_close":
		return decode[PanelClose](line)
	case "panel_resize":
		return decode[PanelResize](line)
	case "panel_focus":
		return decode[PanelFocus](line)
	case "request":
		return decode[Request](line)
	case "response":
		return decode[Response](line)
	case "progress":
		return decode[Progress](line)
	case "cancel":
		return decode[Cancel](line)
	case "shutdown":
		return decode[Shutdown](line)
	}
	return nil, nil
}

func decode[F Frame](line []byte) (Frame, error) {
	var frame F
	err := json.Unmarshal(line, &frame)
	return frame, err
}
