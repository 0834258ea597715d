package ext

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// Verdict is what should happen; made by the methods of Interception. The zero value changes nothing.
type Verdict struct{ decision wire.EventInterceptResponse }

// InterceptionHandler decides about an event; the zero Verdict lets it happen unchanged.
type InterceptionHandler func(event *Interception) Verdict

// Interception is what is about to happen.
type Interception struct {
	Event string
	Frame wire.EventIntercept
	Data  Params   // the keys of the event
	Ctx   *Context // the question; use it to ask the user
}

// The key of the main thing of an event.
var mainKeys = map[string]string{
	"input": "text", "user_shell": "command", "prompt_start": "system_append", "provider_payload": "payload",
	"tool_result": "content", "session_before": "carry", "compaction": "summary", "prompt_end": "continue",
}

var listKeys = []string{"drop", "edit", "insert", "messages"}

// Text is the text of the event.
func (i *Interception) Text() string {
	if text, ok := i.Data["text"].(string); ok {
		return text
	}
	return i.Frame.Text
}

// ToolName is the tool of the event.
func (i *Interception) ToolName() string {
	if name, ok := i.Data["tool_name"].(string); ok {
		return name
	}
	return i.Frame.ToolName
}

// Args are the arguments of the tool.
func (i *Interception) Args() Params {
	if args, ok := i.Data["args"].(map[string]any); ok {
		return args
	}
	return paramsOf(i.Frame.ToolArgs)
}

// Block says that it does not happen.
func (i *Interception) Block(reason string) Verdict {
	return Verdict{wire.EventInterceptResponse{Block: true, Reason: reason}}
}

// Replace uses this instead: the main thing of the event, such as its text, arguments or content. Options: With, for
// other keys of the protocol.
func (i *Interception) Replace(main any, options ...Option) Verdict {
	switch i.Event {
	case "tool_call":
		return Verdict{wire.EventInterceptResponse{ModifiedArgs: mustJSON(main)}}
	case "assistant_message":
		return Verdict{wire.EventInterceptResponse{ReplaceText: fmt.Sprint(main)}}
	case "before_agent_start":
		prompt := fmt.Sprint(main)
		return Verdict{wire.EventInterceptResponse{SystemPrompt: &prompt}}
	}
	return i.Change(append([]Option{With(mainKeys[i.Event], main)}, options...)...)
}

// Change uses the given keys of the protocol, such as With("drop", …) for context.
func (i *Interception) Change(options ...Option) Verdict {
	return Verdict{wire.EventInterceptResponse{Value: mustJSON(withContent(keysOf(options)))}}
}

// Handled says that this extension did it: the thing itself does not happen. For user_shell give With("output", …), for
// tool_call With("content", …).
func (i *Interception) Handled(options ...Option) Verdict {
	answer := wire.EventInterceptResponse{Handled: true}
	if len(options) > 0 {
		answer.Value = mustJSON(withContent(keysOf(options)))
	}
	return Verdict{answer}
}

// AskUser says that a user must agree to this tool call, whatever the permission mode.
func (i *Interception) AskUser(reason string) Verdict {
	return Verdict{wire.EventInterceptResponse{Ask: true, Reason: reason}}
}

// Input is what the user submitted.
type Input struct {
	*Interception
	Text    string
	Images  int
	Source  string // person, rpc, sdk or extension
	Deliver string // now, steer or queue
}

// Replace sends this text instead; the same text changes nothing.
func (in Input) Replace(text string) Verdict {
	if text == in.Text {
		return Verdict{}
	}
	return in.Interception.Replace(text)
}

func inputOf(event *Interception) Input {
	images, _ := event.Data["images"].(float64)
	return Input{event, event.Text(), int(images), event.Data.Text("source"), event.Data.Text("deliver")}
}

// withContent allows a text where the protocol wants blocks of content.
func withContent(value map[string]any) map[string]any {
	if text, ok := value["content"].(string); ok {
		value["content"] = []ToolContent{Text(text)}
	}
	return value
}

// joined is the changes of two handlers.
func joined(before, value json.RawMessage) json.RawMessage {
	if len(before) == 0 {
		return value
	}
	first, second := paramsOf(before), paramsOf(value)
	made := maps.Clone(first)
	for key, given := range second {
		earlier, both := first[key].([]any)
		later, list := given.([]any)
		if both && list && slices.Contains(listKeys, key) {
			given = slices.Concat(earlier, later)
		}
		made[key] = given
	}
	return mustJSON(made)
}

// seenNext is the data that the next handler sees.
func seenNext(data, value json.RawMessage) json.RawMessage {
	known := paramsOf(data)
	for key, given := range paramsOf(value) {
		if _, there := known[key]; there && !slices.Contains(listKeys, key) {
			known[key] = given
		}
	}
	return mustJSON(known)
}

// mustJSON panics for a value that is no JSON, which counts as a crash of the handler.
func mustJSON(value any) json.RawMessage {
	encoded, err := rawJSON(value)
	if err != nil {
		panic(err)
	}
	return encoded
}
