// Package ext writes zot extensions in Go: slash commands, tools, events, interceptors and panels; questions to the user,
// progress, status items and whatever else zot offers its extensions.
//
// Register handlers on an Extension, then call Run. Handlers of commands, tools and interceptors run concurrently;
// handlers of events and panel keys run one at a time, in order. Each request gets exactly one answer: a handler that
// panics answers with an error, an interceptor that panics blocks.
//
// Handlers of one event are called in registration order. Registering a command or tool name twice panics, which ends
// the extension before it starts.
package ext

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// Event is a lifecycle notification; its fields depend on its name.
type Event = wire.Event

// HostInfo is the information zot sent about itself.
type HostInfo = wire.HelloAck

// BeforeAgentStart lets an interceptor change the system prompt.
type BeforeAgentStart = wire.EventIntercept

// The types of handlers.
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

// ToolOptions are the less common properties of a tool.
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

var capabilities = []string{"commands", "tools", "events", "panels", "tool_cancel", "call_tool", "edition2"}
var interceptOrder = []string{"before_agent_start", "tool_call", "turn_start", "assistant_message"}

// Events of the second edition; an older zot does not know them.
var lateEvents = strings.Fields(`prompt_start prompt_end idle message_end message_delta tool_start tool_update
	model_changed tools_changed mode_changed usage session_info files_changed queue_changed dialog resize theme_changed
	settings_changed bus ui_changed`)

type command struct {
	frame   wire.RegisterCommand
	value   map[string]any // more keys, for a zot of the second edition
	handler func(ctx *Context, args string) (Response, error)
}

type tool struct {
	frame   wire.RegisterTool
	handler ToolContextHandler
}

type panel struct {
	onKey   PanelKeyHandler
	onClose func()
}

type interceptor func(ctx *Context, asked wire.EventIntercept) wire.EventInterceptResponse

// Extension is one extension. Everything but Run may be called from any goroutine.
type Extension struct {
	HostMethods
	hello wire.Hello

	mu           sync.Mutex // guards the fields below
	registered   bool
	greeted      bool
	held         []heldFrame     // frames of the second edition before the greeting
	reported     map[string]bool // features this zot does not have, in the log
	host         HostInfo
	commands     []command
	tools        []tool
	reconcilers  map[string]ReconcileHandler
	eventNames   []string
	events       map[string][]EventHandler
	interceptors map[string][]interceptor
	lateNames    []string                  // events intercepted in the second edition only
	options      map[string]map[string]any // of subscribe, by event
	panels       map[string]panel
	onHello      []func()
	named        map[string]string // where a name was registered

	requestHandlers map[string]RequestHandler // by method, a blank, and the name of key or command
	resizers        map[string]func(width, height int)

	wire     *channel
	calls    *calls
	requests *requests
}

// New creates an extension; the name should equal the manifest's.
func New(name, version string) *Extension {
	e := &Extension{
		hello:        wire.Hello{Name: name, Version: version, Capabilities: append([]string{}, capabilities...)},
		reconcilers:  map[string]ReconcileHandler{},
		events:       map[string][]EventHandler{},
		interceptors: map[string][]interceptor{},
		panels:       map[string]panel{},
		named:        map[string]string{},
		reported:     map[string]bool{},
		options:      map[string]map[string]any{},

		requestHandlers: map[string]RequestHandler{},
		resizers:        map[string]func(width, height int){},
	}
	e.HostMethods = HostMethods{ext: e, ctx: context.Background()}
	e.wire = &channel{}
	e.calls = newCalls(e.send)
	e.requests = &requests{open: map[string]*openRequest{}, onOpened: func() {}}
	return e
}

// Guard declares a guard: zot denies calls while the extension cannot decide about them.
func (e *Extension) Guard() *Extension {
	e.hello.Capabilities = append(e.hello.Capabilities, "guard")
	return e
}

// Command registers a slash command; the handler gets the text after the name.
func (e *Extension) Command(name, description string, handler CommandHandler) {
	e.CommandFunc(name, description, func(_ *Context, args string) (Response, error) { return handler(args), nil })
}

// CommandFunc registers a slash command that may ask zot and the user; an error is shown. Options: Complete, Headless,
// With("arguments", …).
func (e *Extension) CommandFunc(name, description string, handler func(ctx *Context, args string) (Response, error), options ...Option) {
	e.claim("command", name)
	value := keysOf(options)
	if complete, given := value["complete"].(Completer); given {
		e.completes(name, complete)
		value["complete"] = true
	}
	made := command{wire.RegisterCommand{Name: name, Description: description}, value, handler}
	e.mu.Lock()
	e.commands = append(e.commands, made)
	e.mu.Unlock()
	e.sendIfRegistered(e.commandFrame(made))
}

// commandFrame is the registration of a command; one with more keys is a contribution where zot knows them.
func (e *Extension) commandFrame(c command) wire.Frame {
	if len(c.value) == 0 || !e.Has("contribute") {
		return c.frame
	}
	value := keysOf(nil, With("description", c.frame.Description))
	maps.Copy(value, c.value)
	return wire.Contribute{Kind: "command", Name: c.frame.Name, Value: mustJSON(value)}
}

// Tool registers a tool for the model; schema is the JSON Schema of its arguments.
func (e *Extension) Tool(name, description string, schema json.RawMessage, handler ToolHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{}, withoutContext(handler))
}

// StructuredTool registers a tool that declares the JSON Schema of its StructuredContent.
func (e *Extension) StructuredTool(name, description string, schema, output json.RawMessage, handler ToolHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{OutputSchema: output}, withoutContext(handler))
}

// DeferredTool registers a tool that the model does not see until a result activates it.
func (e *Extension) DeferredTool(name, description string, schema json.RawMessage, handler ToolHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{Exposure: "deferred"}, withoutContext(handler))
}

// InteractiveTool registers a tool that waits for the user and has no time limit.
func (e *Extension) InteractiveTool(name, description string, schema json.RawMessage, handler ToolContextHandler) {
	e.ToolWithOptions(name, description, schema, ToolOptions{Interactive: true}, handler)
}

// ToolWithOptions registers a tool; its context ends when zot cancels the call.
func (e *Extension) ToolWithOptions(name, description string, schema json.RawMessage, o ToolOptions, handler ToolContextHandler) {
	frame := wire.RegisterTool{
		Name: name, Description: description, Schema: schema, OutputSchema: o.OutputSchema, Namespace: o.Namespace,
		NamespaceDescription: o.NamespaceDescription, NamespaceInstructions: o.NamespaceInstructions,
		Exposure: o.Exposure, Deferred: o.Deferred, Interactive: o.Interactive, Replay: o.Replay,
	}
	e.addTool(frame, handler)
}

func (e *Extension) addTool(frame wire.RegisterTool, handler ToolContextHandler) {
	e.claim("tool", frame.Name)
	e.mu.Lock()
	e.tools = append(e.tools, tool{frame, handler})
	e.mu.Unlock()
	e.sendIfRegistered(frame)
}

func withoutContext(handler ToolHandler) ToolContextHandler {
	return func(_ context.Context, args json.RawMessage) ToolResult { return handler(args) }
}

// Reconciler registers a handler that reports how far an operation of the tool got; without one, Unknown.
func (e *Extension) Reconciler(tool string, handler ReconcileHandler) {
	e.claim("reconciler", tool)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reconcilers[tool] = handler
}

// On observes an event; all its handlers are called, in registration order. Options: Tools, Topics, EveryMS.
func (e *Extension) On(event string, handler EventHandler, options ...Option) {
	e.mu.Lock()
	e.setOptions(event, options)
	if !slices.Contains(e.eventNames, event) {
		e.eventNames = append(e.eventNames, event)
	}
	e.events[event] = append(e.events[event], handler)
	e.mu.Unlock()
	e.subscribeIfRegistered([]string{event}, nil)
}

func (e *Extension) setOptions(event string, options []Option) {
	if len(options) == 0 {
		return
	}
	if e.options[event] == nil {
		e.options[event] = map[string]any{}
	}
	maps.Copy(e.options[event], keysOf(options))
}

// subscription is the frame for these events, without what this zot does not know; false if nothing is left.
func (e *Extension) subscription(events, intercept []string) (frame wire.Subscribe, useful bool) {
	late, early := e.Has("intercept2"), e.Has("request")
	e.mu.Lock()
	defer e.mu.Unlock()
	options := map[string]any{}
	for _, event := range events {
		if early || !slices.Contains(lateEvents, event) {
			frame.Events = append(frame.Events, event)
		}
	}
	for _, event := range intercept {
		if late || slices.Contains(interceptOrder, event) {
			frame.Intercept = append(frame.Intercept, event)
		}
	}
	for _, event := range slices.Concat(frame.Events, frame.Intercept) {
		if given := e.options[event]; given != nil {
			options[event] = given
		}
	}
	if early && len(options) > 0 {
		frame.Options = mustJSON(options)
	}
	return frame, len(frame.Events)+len(frame.Intercept) > 0
}

func (e *Extension) subscribeIfRegistered(events, intercept []string) {
	if frame, useful := e.subscription(events, intercept); useful {
		e.sendIfRegistered(frame)
	}
}

// OnHello runs when Host is known, before the registrations are sent.
func (e *Extension) OnHello(handler func()) { e.onHello = append(e.onHello, handler) }

// InterceptToolCall is called before each tool runs. Interceptors of one event are called in registration order: each
// gets the changes of those before it, and the first that blocks decides.
func (e *Extension) InterceptToolCall(handler InterceptHandler) {
	e.intercept("tool_call", func(_ *Context, asked wire.EventIntercept) wire.EventInterceptResponse {
		allowed, reason := handler(asked.ToolName, objectOr(asked.ToolArgs))
		return wire.EventInterceptResponse{Block: !allowed, Reason: reason}
	})
}

// InterceptToolCallX does the same and may change the arguments.
func (e *Extension) InterceptToolCallX(handler ToolCallHandler) {
	e.intercept("tool_call", func(_ *Context, asked wire.EventIntercept) wire.EventInterceptResponse {
		d := handler(asked.ToolName, objectOr(asked.ToolArgs))
		return wire.EventInterceptResponse{Block: d.Block, Reason: d.Reason, ModifiedArgs: d.ModifiedArgs}
	})
}

// InterceptTurnStart is called before each model call.
func (e *Extension) InterceptTurnStart(handler TurnStartHandler) {
	e.intercept("turn_start", func(_ *Context, asked wire.EventIntercept) wire.EventInterceptResponse {
		d := handler(asked.Step)
		return wire.EventInterceptResponse{Block: d.Block, Reason: d.Reason}
	})
}

// InterceptAssistantMessage is called before the user sees a message.
func (e *Extension) InterceptAssistantMessage(handler AssistantMessageHandler) {
	e.intercept("assistant_message", func(_ *Context, asked wire.EventIntercept) wire.EventInterceptResponse {
		d := handler(asked.Text)
		return wire.EventInterceptResponse{Block: d.Block, Reason: d.Reason, ReplaceText: d.ReplaceText}
	})
}

// InterceptBeforeAgentStart may replace the system prompt; nil leaves it unchanged.
func (e *Extension) InterceptBeforeAgentStart(handler BeforeAgentStartHandler) {
	e.intercept("before_agent_start", func(_ *Context, asked wire.EventIntercept) wire.EventInterceptResponse {
		return wire.EventInterceptResponse{SystemPrompt: handler(asked)}
	})
}

// Intercept intercepts any event by its name in the protocol. Options: Tools, With("content", …).
func (e *Extension) Intercept(event string, handler InterceptionHandler, options ...Option) {
	e.intercept(event, func(ctx *Context, asked wire.EventIntercept) wire.EventInterceptResponse {
		return handler(&Interception{Event: asked.Event, Frame: asked, Data: paramsOf(asked.Data), Ctx: ctx}).decision
	}, options...)
}

// InterceptInput is called with what the user submits, before anything else happens to it.
func (e *Extension) InterceptInput(handler func(in Input) Verdict) {
	e.Intercept("input", func(event *Interception) Verdict { return handler(inputOf(event)) })
}

func (e *Extension) intercept(event string, ask interceptor, options ...Option) {
	e.mu.Lock()
	e.setOptions(event, options)
	if !slices.Contains(interceptOrder, event) && !slices.Contains(e.lateNames, event) {
		e.lateNames = append(e.lateNames, event)
	}
	e.interceptors[event] = append(e.interceptors[event], ask)
	e.mu.Unlock()
	e.subscribeIfRegistered(nil, []string{event})
}

// OnPanelKey registers handlers for the keys of a panel and for its close by the user. Either may be nil. A panel that
// is opened again may get new handlers.
func (e *Extension) OnPanelKey(id string, onKey PanelKeyHandler, onClose func()) {
	if !e.running() {
		e.claim("panel", id)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.panels[id] = panel{onKey, onClose}
}

// OnPanelResize is called with the size of a panel when it opens and when the size changes.
func (e *Extension) OnPanelResize(id string, handler func(width, height int)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resizers[id] = handler
}

// Notify shows a notification below the transcript; level is info, success, warn or error.
func (e *Extension) Notify(level, message string) {
	e.send(wire.Notify{Level: level, Message: message})
}

// ClearNotes removes all notifications of this extension.
func (e *Extension) ClearNotes() { e.send(wire.ClearNotes{}) }

// OpenPanel opens a panel without a command.
func (e *Extension) OpenPanel(id, title string, lines []string, footer string) {
	e.send(wire.OpenPanel{Panel: Panel{ID: id, Title: title, Lines: lines, Footer: footer}})
}

// RenderPanel redraws an open panel; an empty title leaves the old one.
func (e *Extension) RenderPanel(id, title string, lines []string, footer string) {
	e.send(wire.PanelRender{PanelID: id, Title: title, Lines: lines, Footer: footer})
}

// ClosePanel closes a panel.
func (e *Extension) ClosePanel(id string) { e.send(wire.PanelClose{PanelID: id}) }

// Submit submits text as if the user had typed it.
func (e *Extension) Submit(text string) { e.send(wire.Submit{Text: text}) }

// SubmitSlash runs a slash command; the text begins with a slash.
func (e *Extension) SubmitSlash(text string) { e.send(wire.SubmitSlash{Text: text}) }

// Host is the information zot sent about itself; empty before OnHello.
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
	if e.running() {
		e.send(frame)
	}
}

func (e *Extension) hasGreeted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.greeted
}

func (e *Extension) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.registered
}

// claim reserves a name; it panics if the name is taken. Names of commands are case-insensitive.
func (e *Extension) claim(kind, name string) {
	key := kind + " " + name
	if kind == "command" {
		key = strings.ToLower(key)
	}
	here := author()
	e.mu.Lock()
	defer e.mu.Unlock()
	if first, taken := e.named[key]; taken {
		panic(fmt.Sprintf("%s %q is registered twice, at %s and at %s: remove one, or give it another name", kind, name, first, here))
	}
	e.named[key] = here
}

// author is the file and line outside this package that called into it.
func author() string {
	_, own, _, _ := runtime.Caller(0)
	for skip := 1; ; skip++ {
		_, file, line, ok := runtime.Caller(skip)
		if !ok || filepath.Dir(file) != filepath.Dir(own) || strings.HasSuffix(file, "_test.go") {
			return fmt.Sprintf("%s:%d", filepath.Base(file), line)
		}
	}
}

func objectOr(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}
