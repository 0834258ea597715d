// Package ext writes zot extensions in Go: slash commands, tools, events, interceptors and panels.
//
// Register handlers on an Extension, then call Run. Handlers of commands, tools and interceptors run concurrently;
// handlers of events and panel keys run one after the other in the order things happened. Each request gets exactly
// one answer: a handler that panics answers with an error, an interceptor that panics blocks.
package ext

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// Event is a lifecycle notification; which fields are set depends on its name.
type Event = wire.Event

// HostInfo is what the host said of itself.
type HostInfo = wire.HelloAck

// BeforeAgentStart is the question whether to change the system prompt.
type BeforeAgentStart = wire.EventIntercept

// The handlers an author writes.
type (
	CommandHandler          func(args string) Response
	ToolHandler             func(args json.RawMessage) ToolResult
	ToolContextHandler      func(ctx context.Context, args json.RawMessage) ToolResult
	ReconcileHandler        func(ctx context.Context, args json.RawMessage) Reconciliation
	EventHandler            func(event Event)
	InterceptHandler        func(tool string, args json.RawMessage) (allowed bool, reason string)
	ToolCallHandler         func(tool string, args json.RawMessage) ToolCallDecision
	TurnStartHandler        func(step int) TurnStartDecision
	AssistantMessageHandler func(text string) AssistantMessageDecision
	BeforeAgentStartHandler func(asked BeforeAgentStart) (systemPrompt *string)
	PanelKeyHandler         func(key, text string)
)

// ToolOptions are the rarer properties of a tool.
type ToolOptions struct {
	OutputSchema          json.RawMessage
	Namespace             string
	NamespaceDescription  string
	NamespaceInstructions string
	Exposure              string // direct, codemode, deferred or model-only
	Deferred              bool
	Interactive           bool
	Replay                string // never, safe, idempotent or reconcile
}

var capabilities = []string{"commands", "tools", "events", "panels", "tool_cancel", "call_tool"}
var interceptOrder = []string{"before_agent_start", "tool_call", "turn_start", "assistant_message"}

type command struct {
	frame   wire.RegisterCommand
	handler CommandHandler
}

type tool struct {
	frame   wire.RegisterTool
	handler ToolContextHandler
}

type panel struct {
	onKey   PanelKeyHandler
	onClose func()
}

// Extension is one extension. Everything but Run may be called from any goroutine.
type Extension struct {
	hello wire.Hello

	mu           sync.Mutex // guards what follows
	registered   bool
	host         HostInfo
	commands     []command
	tools        []tool
	reconcilers  map[string]ReconcileHandler
	eventNames   []string
	events       map[string]EventHandler
	interceptors map[string]func(wire.EventIntercept) wire.EventInterceptResponse
	richToolCall bool
	panels       map[string]panel
	onHello      func()

	wire  *channel
	calls *calls
}

// New makes an extension; the name should be the manifest's.
func New(name, version string) *Extension {
	e := &Extension{
		hello:        wire.Hello{Name: name, Version: version, Capabilities: append([]string{}, capabilities...)},
		reconcilers:  map[string]ReconcileHandler{},
		events:       map[string]EventHandler{},
		interceptors: map[string]func(wire.EventIntercept) wire.EventInterceptResponse{},
		panels:       map[string]panel{},
	}
	e.wire = &channel{}
	e.calls = newCalls(e.send)
	return e
}

// Guard declares that what this extension cannot decide must not happen.
func (e *Extension) Guard() *Extension {
	e.hello.Capabilities = append(e.hello.Capabilities, "guard")
	return e
}

// Command registers a slash command; the handler gets what followed the name.
func (e *Extension) Command(name, description string, handler CommandHandler) {
	frame := wire.RegisterCommand{Name: name, Description: description}
	e.mu.Lock()
	e.commands = append(slices.DeleteFunc(e.commands, func(c command) bool { return c.frame.Name == name }), command{frame, handler})
	e.mu.Unlock()
	e.sendIfRegistered(frame)
}

// Tool registers a tool for the model; schema is the JSON Schema of its arguments.
func (e *Extension) Tool(name, description string, schema json.RawMessage, handler ToolHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{}, withoutContext(handler))
}

// StructuredTool registers a tool that declares the JSON Schema of its StructuredContent.
func (e *Extension) StructuredTool(name, description string, schema, output json.RawMessage, handler ToolHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{OutputSchema: output}, withoutContext(handler))
}

// DeferredTool registers a tool the model does not see until a result activates it.
func (e *Extension) DeferredTool(name, description string, schema json.RawMessage, handler ToolHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{Exposure: "deferred"}, withoutContext(handler))
}

// InteractiveTool registers a tool that waits for a person and therefore has no time limit.
func (e *Extension) InteractiveTool(name, description string, schema json.RawMessage, handler ToolContextHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{Interactive: true}, handler)
}

// ToolWithOptions registers a tool; its context ends when the host gives the call up.
func (e *Extension) ToolWithOptions(name, description string, schema json.RawMessage, o ToolOptions, handler ToolContextHandler) {
	frame := wire.RegisterTool{
		Name: name, Description: description, Schema: schema, OutputSchema: o.OutputSchema, Namespace: o.Namespace,
		NamespaceDescription: o.NamespaceDescription, NamespaceInstructions: o.NamespaceInstructions,
		Exposure: o.Exposure, Deferred: o.Deferred, Interactive: o.Interactive, Replay: o.Replay,
	}
	e.mu.Lock()
	e.tools = append(slices.DeleteFunc(e.tools, func(t tool) bool { return t.frame.Name == name }), tool{frame, handler})
	e.mu.Unlock()
	e.sendIfRegistered(frame)
}

func withoutContext(handler ToolHandler) ToolContextHandler {
	return func(_ context.Context, args json.RawMessage) ToolResult { return handler(args) }
}

// Reconciler says how far an operation of the tool got; without one the answer is Unknown.
func (e *Extension) Reconciler(tool string, handler ReconcileHandler) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reconcilers[tool] = handler
}

// On observes an event; one handler per event, the last wins.
func (e *Extension) On(event string, handler EventHandler) {
	e.mu.Lock()
	if _, known := e.events[event]; !known {
		e.eventNames = append(e.eventNames, event)
	}
	e.events[event] = handler
	e.mu.Unlock()
	e.sendIfRegistered(wire.Subscribe{Events: []string{event}})
}

// OnHello runs when Host is known, before the registrations are sent.
func (e *Extension) OnHello(handler func()) { e.onHello = handler }

// InterceptToolCall is asked before each tool runs.
func (e *Extension) InterceptToolCall(handler InterceptHandler) {
	if e.richToolCall {
		return
	}
	e.intercept("tool_call", func(asked wire.EventIntercept) wire.EventInterceptResponse {
		allowed, reason := handler(asked.ToolName, objectOr(asked.ToolArgs))
		return wire.EventInterceptResponse{Block: !allowed, Reason: reason}
	})
}

// InterceptToolCallX is the same, may change the arguments, and wins where both are set.
func (e *Extension) InterceptToolCallX(handler ToolCallHandler) {
	e.richToolCall = true
	e.intercept("tool_call", func(asked wire.EventIntercept) wire.EventInterceptResponse {
		d := handler(asked.ToolName, objectOr(asked.ToolArgs))
		return wire.EventInterceptResponse{Block: d.Block, Reason: d.Reason, ModifiedArgs: d.ModifiedArgs}
	})
}

// InterceptTurnStart is asked before each model call.
func (e *Extension) InterceptTurnStart(handler TurnStartHandler) {
	e.intercept("turn_start", func(asked wire.EventIntercept) wire.EventInterceptResponse {
		d := handler(asked.Step)
		return wire.EventInterceptResponse{Block: d.Block, Reason: d.Reason}
	})
}

// InterceptAssistantMessage is asked before the user sees a message.
func (e *Extension) InterceptAssistantMessage(handler AssistantMessageHandler) {
	e.intercept("assistant_message", func(asked wire.EventIntercept) wire.EventInterceptResponse {
		d := handler(asked.Text)
		return wire.EventInterceptResponse{Block: d.Block, Reason: d.Reason, ReplaceText: d.ReplaceText}
	})
}

// InterceptBeforeAgentStart may replace the system prompt; nil keeps it.
func (e *Extension) InterceptBeforeAgentStart(handler BeforeAgentStartHandler) {
	e.intercept("before_agent_start", func(asked wire.EventIntercept) wire.EventInterceptResponse {
		return wire.EventInterceptResponse{SystemPrompt: handler(asked)}
	})
}

func (e *Extension) intercept(event string, ask func(wire.EventIntercept) wire.EventInterceptResponse) {
	e.mu.Lock()
	e.interceptors[event] = ask
	e.mu.Unlock()
	e.sendIfRegistered(wire.Subscribe{Intercept: []string{event}})
}

// OnPanelKey gets the keys of a panel, and learns when the user closed it. Either handler may be nil.
func (e *Extension) OnPanelKey(id string, onKey PanelKeyHandler, onClose func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.panels[id] = panel{onKey, onClose}
}

// Notify shows a note below the transcript; level is info, success, warn or error.
func (e *Extension) Notify(level, message string) {
	e.send(wire.Notify{Level: level, Message: message})
}

// ClearNotes takes back every note of this extension.
func (e *Extension) ClearNotes() { e.send(wire.ClearNotes{}) }

// OpenPanel opens a panel without a command.
func (e *Extension) OpenPanel(id, title string, lines []string, footer string) {
	e.send(wire.OpenPanel{Panel: Panel{ID: id, Title: title, Lines: lines, Footer: footer}})
}

// RenderPanel draws the open panel anew; an empty title keeps the old one.
func (e *Extension) RenderPanel(id, title string, lines []string, footer string) {
	e.send(wire.PanelRender{PanelID: id, Title: title, Lines: lines, Footer: footer})
}

// ClosePanel closes a panel.
func (e *Extension) ClosePanel(id string) { e.send(wire.PanelClose{PanelID: id}) }

// Submit submits text as if it was typed.
func (e *Extension) Submit(text string) { e.send(wire.Submit{Text: text}) }

// SubmitSlash runs a slash command; the text begins with a slash.
func (e *Extension) SubmitSlash(text string) { e.send(wire.SubmitSlash{Text: text}) }

// Host is what the host said of itself; empty before it did.
func (e *Extension) Host() HostInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.host
}

// Logf writes a line to the extension's log file (stderr).
func (e *Extension) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%s] %s\n", e.hello.Name, fmt.Sprintf(format, args...))
}

func (e *Extension) send(frame wire.Frame) {
	line, err := wire.Encode(frame)
	if err != nil {
		e.Logf("cannot send %s: %v", frame.FrameType(), err)
		return
	}
	e.wire.send(line)
}

func (e *Extension) sendIfRegistered(frame wire.Frame) {
	e.mu.Lock()
	registered := e.registered
	e.mu.Unlock()
	if registered {
		e.send(frame)
	}
}

func objectOr(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}
