package ext

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// Context is the question of zot that a handler answers: a tool call, a command, an interception, a key or a request.
// It ends when zot cancels the question. Requests made through it belong to it: they end with it, and the clock of the
// question stands still while the user is asked.
type Context struct {
	context.Context
	HostMethods
	id       string
	name     string
	kind     questionKind
	ext      *Extension
	cancel   context.CancelFunc
	answered atomic.Bool
}

type questionKind int

const (
	commandQuestion questionKind = iota
	toolQuestion
	interceptQuestion
	requestQuestion
)

const questionKey contextKey = "question"

// questionOf is the question a context was made for; nil outside of one.
func questionOf(ctx context.Context) *Context {
	found, _ := ctx.Value(questionKey).(*Context)
	return found
}

func newContext(e *Extension, kind questionKind, id, name, operation string) *Context {
	c := &Context{id: id, name: name, kind: kind, ext: e}
	base := context.WithValue(context.Background(), questionKey, c)
	if kind == toolQuestion {
		base = context.WithValue(base, parentKey, id)
		base = context.WithValue(base, operationKey, operation)
	}
	c.Context, c.cancel = context.WithCancel(base)
	c.HostMethods = HostMethods{e, c, kind == interceptQuestion}
	return c
}

// Extension is the extension the handler belongs to.
func (c *Context) Extension() *Extension { return c.ext }

// Name is the tool, command, event or method of the question.
func (c *Context) Name() string { return c.name }

// OperationKey is the same for every replay of one call; empty in ordinary sessions.
func (c *Context) OperationKey() string { return OperationKey(c) }

// CallTool requests that zot runs a tool as part of this call.
func (c *Context) CallTool(name string, args any) (CalledTool, error) {
	return c.ext.CallTool(c, name, args)
}

// Progress shows how far it is; the newest counts. A fraction outside 0 to 1 draws no bar. Options: WithView, Partial,
// With("data", …).
func (c *Context) Progress(text string, fraction float64, options ...Option) {
	if c.answered.Load() || !c.ext.Has("progress") {
		return
	}
	frame := wire.Progress{ID: c.id, Text: text}
	if fraction >= 0 && fraction <= 1 {
		frame.Fraction = &fraction
	}
	keys := keysOf(options)
	frame.Content, _ = keys["content"].([]ToolContent)
	frame.View, _ = rawJSON(keys["view"])
	frame.Data, _ = rawJSON(keys["data"])
	c.ext.send(frame)
}

// claimAnswer is true once: a question gets one answer.
func (c *Context) claimAnswer() bool { return c.answered.CompareAndSwap(false, true) }

// failed is the answer of a handler that has none.
func (c *Context) failed(words, code string) wire.Frame {
	switch c.kind {
	case commandQuestion:
		return wire.CommandResponse{ID: c.id, Action: "noop", Error: words}
	case toolQuestion:
		return wire.ToolResult{ID: c.id, Content: []ToolContent{Text(words)}, IsError: true}
	case interceptQuestion:
		return wire.EventInterceptResponse{ID: c.id, Block: true, Reason: words}
	}
	return wire.Response{ID: c.id, Error: &wire.ResponseError{Code: code, Message: words}}
}

// Params are the parameters of a request of zot.
type Params map[string]any

// Text is a parameter that is a string; "" if it is none.
func (p Params) Text(name string) string {
	text, _ := p[name].(string)
	return text
}

func paramsOf(raw json.RawMessage) Params {
	found := Params{}
	_ = json.Unmarshal(raw, &found) // parameters that are no object count as none
	return found
}
