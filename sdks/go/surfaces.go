package ext

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// Completer completes a text; items are strings, or Items.
type Completer func(ctx *Context, text string) []Item

// Item is one completion; Replace is the number of characters before the cursor it takes the place of.
type Item struct {
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
	Replace     int    `json:"replace,omitempty"`
}

// Items are completions without labels.
func Items(values ...string) []Item {
	made := make([]Item, len(values))
	for i, value := range values {
		made[i] = Item{Value: value}
	}
	return made
}

// RequestHandler answers a request of zot; the result is any value that encodes to JSON.
type RequestHandler func(ctx *Context, params Params) (any, error)

var kindFeatures = map[string]string{
	"status": "surfaces", "widget": "surfaces", "header": "surfaces", "footer": "surfaces", "title": "surfaces",
	"working": "surfaces", "thinking": "surfaces", "border": "editor", "decoration": "editor", "keymap": "editor",
	"key": "keys", "completion": "completion", "renderer": "render", "provider": "providers", "resource": "resources",
}

func kindFeature(kind string) string { return cmp.Or(kindFeatures[kind], "contribute") }

// Contribute adds or replaces anything by its kind in the protocol, also before Run. A refusal is a diagnostic of zot.
func (e *Extension) Contribute(kind, name string, value any) {
	e.sendLater(kindFeature(kind), wire.Contribute{Kind: kind, Name: name, Value: mustJSON(value)})
}

// TryContribute is the same, and waits for zot's answer.
func (e *Extension) TryContribute(kind, name string, value any) error {
	feature := kindFeature(kind)
	if e.hasGreeted() && !e.Has(feature) {
		return missing(feature, kind)
	}
	encoded, err := rawJSON(value)
	if err != nil {
		return err
	}
	_, err = e.exchange(context.Background(), feature, nil, func(id string) wire.Frame {
		return wire.Contribute{ID: id, Kind: kind, Name: name, Value: encoded}
	})
	return err
}

// Withdraw removes a contribution; it does nothing if there is none.
func (e *Extension) Withdraw(kind, name string) {
	e.sendLater(kindFeature(kind), wire.Withdraw{Kind: kind, Name: name})
}

// --- the screen: the newest value counts. A line is a string or a StyledLine.

// Status is an item of the status row. Options: With("side", "right"), With("order", …).
func (e *Extension) Status(name string, line any, options ...Option) {
	e.Contribute("status", name, keysOf(options, With("line", line)))
}

// Widget is a block of at most 12 lines above the prompt, or below it: With("place", "below").
func (e *Extension) Widget(name string, lines []any, options ...Option) {
	e.Contribute("widget", name, keysOf(options, With("lines", lines)))
}

// Header is lines above the conversation.
func (e *Extension) Header(lines ...any) { e.Contribute("header", "header", Params{"lines": lines}) }

// Footer is at most 3 lines at the bottom.
func (e *Extension) Footer(lines ...any) { e.Contribute("footer", "footer", Params{"lines": lines}) }

// Title is the title of the terminal.
func (e *Extension) Title(text string) { e.Contribute("title", "title", Params{"text": text}) }

// --- answers to zot

// OnRequest answers a request of zot by its name in the protocol.
func (e *Extension) OnRequest(method string, handler RequestHandler) { e.answers(method, "", handler) }

func (e *Extension) answers(method, name string, handler RequestHandler) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requestHandlers[method+" "+name] = handler
}

// Key takes a key of the prompt, such as ctrl+alt+p; the handler returns what a command returns.
func (e *Extension) Key(key, description string, handler func(ctx *Context) (Response, error)) {
	name := strings.ReplaceAll(key, "+", "-")
	e.Contribute("key", name, Params{"keys": []string{key}, "description": description})
	e.answers("key", name, func(ctx *Context, _ Params) (any, error) {
		response, err := handler(ctx)
		return keysOfResponse(response), err
	})
}

// keysOfResponse is a response as the result of a request: without type and id.
func keysOfResponse(response Response) Params {
	keys := paramsOf(mustJSON(response.frame))
	delete(keys, "type")
	delete(keys, "id")
	return keys
}

// Completion completes words of the prompt behind a character, such as #.
func (e *Extension) Completion(name, trigger, description string, complete Completer) {
	e.Contribute("completion", name, Params{"triggers": []string{trigger}, "description": description})
	e.completes(trigger, complete)
}

func (e *Extension) completes(name string, complete Completer) {
	e.answers("complete", name, func(ctx *Context, params Params) (any, error) {
		return Params{"items": complete(ctx, params.Text("text"))}, nil
	})
}

// Renderer draws the results of tools; a nil view leaves it to zot.
func (e *Extension) Renderer(name string, tools []string, draw func(ctx *Context, params Params) *View) {
	e.Contribute("renderer", name, Params{"for": "tool", "match": tools})
	for _, tool := range tools {
		e.answers("render", tool, func(ctx *Context, params Params) (any, error) {
			if view := draw(ctx, params); view != nil {
				return view, nil
			}
			return nil, nil
		})
	}
}

// OnStateSave is called before a reload; the next process finds the value in State.
func (e *Extension) OnStateSave(save func() any) {
	e.answers("state.save", "", func(*Context, Params) (any, error) { return Params{"state": save()}, nil })
}

// State decodes what the process before a reload returned from its OnStateSave handler; false if there is nothing.
func (e *Extension) State(into any) bool {
	state := e.Host().State
	return len(state) > 0 && string(state) != "null" && json.Unmarshal(state, into) == nil
}

// Has is true if this zot has a feature, such as dialogs; a mode may still have no place for it.
func (e *Extension) Has(feature string) bool { return slices.Contains(e.Host().Features, feature) }

// Granted is true if a word of the manifest's uses holds in this run.
func (e *Extension) Granted(word string) bool { return slices.Contains(e.Host().Granted, word) }

// Mode is how zot runs: terminal, print, json, stream, rpc, sdk, daemon or subagent.
func (e *Extension) Mode() string { return e.Host().Mode }

// Settings are the values of the settings the manifest declares, without secrets.
func (e *Extension) Settings() Params { return paramsOf(e.Host().Settings) }

// Flags are the values of the flags the manifest declares.
func (e *Extension) Flags() Params { return paramsOf(e.Host().Flags) }
