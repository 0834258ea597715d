package ext

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

const handlersGrace = time.Second // for running handlers before shutdown is acknowledged

// Run sends hello and the registrations, then serves until shutdown or the end of input.
func (e *Extension) Run() error {
	s := &server{Extension: e, questions: map[string]*Context{}}
	e.requests.onOpened = s.release
	frames, failed := s.read(e.wire.open())
	e.send(e.hello)
	first, open := <-frames
	if !open {
		return endOf(<-failed)
	}
	if !s.run(first, frames) {
		return nil
	}
	return endOf(<-failed)
}

func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type server struct {
	*Extension
	handlers sync.WaitGroup

	state     sync.Mutex
	questions map[string]*Context // the open questions of zot
	waiting   chan struct{}       // closed when a handler begins to wait for zot, so that reading goes on
	previous  chan struct{}       // the end of the handler in order before; used by the reader only
}

// read decodes the known frames; other lines are logged and skipped.
func (s *server) read(reader *bufio.Reader) (<-chan wire.Frame, <-chan error) {
	frames, failed := make(chan wire.Frame), make(chan error, 1)
	go func() {
		defer close(frames)
		for {
			line, err := reader.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) == 0 && err != nil {
				failed <- err
				return
			}
			frame, bad := wire.Decode(line)
			if bad != nil {
				s.Logf("ignored a line that is not a frame: %v", bad)
			} else if frame != nil {
				frames <- frame
			}
		}
	}()
	return frames, failed
}

// run serves until shutdown (false) or the end of input (true). Frames that arrive before the registrations are sent
// wait, except answers that a handler of OnHello may be waiting for.
func (s *server) run(first wire.Frame, frames <-chan wire.Frame) bool {
	ready := make(chan struct{})
	ack, greets := first.(wire.HelloAck)
	go func() {
		defer close(ready)
		if greets {
			s.greet(ack)
		}
		s.register()
	}()
	early := []wire.Frame{}
	if !greets {
		early = append(early, first)
	}
	for registered := ready; ; {
		select {
		case <-registered:
			registered = nil
			if !s.serveAll(early) {
				return false
			}
		case frame, open := <-frames:
			if _, stops := frame.(wire.Shutdown); !open || stops {
				s.loseAll()
			}
			switch {
			case !open:
				<-ready
				more := registered == nil || s.serveAll(early)
				s.finish()
				return more
			case registered != nil && !isAnswer(frame):
				early = append(early, frame)
			case !s.serve(frame):
				return false
			}
		}
	}
}

func (s *server) serveAll(frames []wire.Frame) bool {
	for _, frame := range frames {
		if !s.serve(frame) {
			return false
		}
	}
	return true
}

func isAnswer(frame wire.Frame) bool {
	switch frame.(type) {
	case wire.HostToolResult, wire.Response, wire.Progress:
		return true
	}
	return false
}

func (s *server) greet(ack wire.HelloAck) {
	s.mu.Lock()
	s.host = ack
	s.greeted = true
	s.mu.Unlock()
	s.calls.mu.Lock()
	s.calls.offered = slices.Contains(ack.Capabilities, "call_tool")
	s.calls.mu.Unlock()
	for _, handler := range s.onHello {
		s.guarded("on_hello", handler)
	}
}

func (s *server) register() {
	s.mu.Lock()
	s.registered, s.greeted = true, true
	commands, tools := slices.Clone(s.commands), slices.Clone(s.tools)
	events, intercept := slices.Clone(s.eventNames), []string{}
	for _, event := range interceptOrder {
		if s.interceptors[event] != nil {
			intercept = append(intercept, event)
		}
	}
	intercept = append(intercept, s.lateNames...)
	held := s.held
	s.held = nil
	s.mu.Unlock()
	for _, command := range commands {
		s.send(s.commandFrame(command))
	}
	for _, tool := range tools {
		s.send(tool.frame)
	}
	if subscribe, useful := s.subscription(events, intercept); useful {
		s.send(subscribe)
	}
	for _, each := range held {
		s.sendLater(each.feature, each.frame)
	}
	s.send(wire.Ready{})
}

// serve handles one frame; false when the run is over.
func (s *server) serve(frame wire.Frame) bool {
	switch f := frame.(type) {
	case wire.CommandInvoked:
		s.answer(commandQuestion, f.ID, f.Name, "", func(ctx *Context) (wire.Frame, error) { return s.runCommand(ctx, f) })
	case wire.ToolCall:
		s.answer(toolQuestion, f.ID, f.Name, f.OperationKey, func(ctx *Context) (wire.Frame, error) {
			return toolFrame(f.ID, s.toolResult(ctx, f))
		})
	case wire.EventIntercept:
		s.answer(interceptQuestion, f.ID, f.Event, "", func(ctx *Context) (wire.Frame, error) { return s.decision(ctx, f), nil })
	case wire.Request:
		s.answer(requestQuestion, f.ID, f.Method, "", func(ctx *Context) (wire.Frame, error) { return s.respond(ctx, f) })
	case wire.Response:
		s.requests.answered(f)
	case wire.Progress:
		s.requests.progressed(f)
	case wire.Cancel:
		s.cancel(f.ID, true)
	case wire.ToolCancel:
		s.cancel(f.ID, false)
	case wire.HostToolResult:
		s.calls.answer(f)
	case wire.Event:
		s.remember(f)
		for _, handler := range s.eventHandlers(f.Event) {
			s.inOrder(f.Event, func() { handler(f) })
		}
	case wire.PanelKey:
		if p := s.panel(f.PanelID); p.onKey != nil {
			s.inOrder("panel key", func() { p.onKey(f.Key, f.Text) })
		}
	case wire.PanelResize:
		s.mu.Lock()
		resized := s.resizers[f.PanelID]
		s.mu.Unlock()
		if resized != nil {
			s.inOrder("panel resize", func() { resized(f.Width, f.Height) })
		}
	case wire.PanelClose:
		if p := s.panel(f.PanelID); p.onClose != nil {
			s.inOrder("panel close", p.onClose)
		}
	case wire.Shutdown:
		s.finish()
		s.send(wire.ShutdownAck{})
		return false
	}
	return true
}

// remember keeps what the greeting said up to date.
func (s *server) remember(event Event) {
	data := paramsOf(event.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch event.Event {
	case "settings_changed":
		settings := paramsOf(s.host.Settings)
		for name, value := range paramsOf(mustJSON(data["values"])) {
			settings[name] = value
		}
		s.host.Settings = mustJSON(settings)
	case "ui_changed":
		s.host.UI = event.Data
	}
}

func (s *server) eventHandlers(event string) []EventHandler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events[event])
}

func (s *server) panel(id string) panel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.panels[id]
}

// inOrder runs a handler after those before it. The reader waits for its end, so that a handler is done before the next
// frame, unless the handler waits for zot.
func (s *server) inOrder(what string, handler func()) {
	before, done, waiting := s.previous, make(chan struct{}), make(chan struct{})
	s.previous = done
	s.state.Lock()
	s.waiting = waiting
	s.state.Unlock()
	queued := before != nil && !isClosed(before)
	s.handlers.Add(1)
	go func() {
		defer s.handlers.Done()
		defer close(done)
		if queued {
			<-before
		}
		s.guarded(what, handler) // a crash is logged
	}()
	if queued {
		return
	}
	select {
	case <-done:
	case <-waiting:
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// release lets the reader go on: some handler waits for an answer.
func (s *server) release() {
	s.state.Lock()
	defer s.state.Unlock()
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}

func (s *server) loseAll() {
	s.calls.loseAll()
	s.requests.loseAll()
}

// finish waits briefly for running handlers; those that wait for zot get an error.
func (s *server) finish() {
	s.loseAll()
	done := make(chan struct{})
	go func() {
		s.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(handlersGrace):
	}
}

// --- one question, one answer

// answer runs the handler of a question and sends its answer, unless the question was cancelled.
func (s *server) answer(kind questionKind, id, name, operation string, handle func(*Context) (wire.Frame, error)) {
	ctx := newContext(s.Extension, kind, id, name, operation)
	s.state.Lock()
	s.questions[id] = ctx
	s.state.Unlock()
	s.handlers.Add(1)
	go func() {
		defer s.handlers.Done()
		defer s.forget(ctx)
		var frame wire.Frame
		var err error
		if crash := s.guarded(what(ctx), func() { frame, err = handle(ctx) }); crash != "" {
			err = errors.New(crashWords(s.hello.Name, ctx, crash))
		} else if err == nil {
			_, err = wire.Encode(frame)
		}
		if err != nil {
			frame = ctx.failed(err.Error(), codeOf(err))
		}
		if ctx.claimAnswer() {
			s.send(frame)
		}
	}()
}

func (s *server) forget(ctx *Context) {
	ctx.cancel()
	s.state.Lock()
	defer s.state.Unlock()
	if s.questions[ctx.id] == ctx {
		delete(s.questions, ctx.id)
	}
}

// cancel ends a question; it may come before the handler starts.
func (s *server) cancel(id string, answers bool) {
	s.state.Lock()
	ctx := s.questions[id]
	s.state.Unlock()
	if ctx == nil {
		return
	}
	if ctx.claimAnswer() && answers {
		s.send(ctx.failed("cancelled", "cancelled"))
	}
	ctx.cancel()
}

func what(ctx *Context) string {
	if ctx.kind == commandQuestion {
		return "/" + ctx.name
	}
	return ctx.name
}

func crashWords(extension string, ctx *Context, crash string) string {
	switch ctx.kind {
	case commandQuestion:
		return fmt.Sprintf("/%s crashed: %s", ctx.name, crash)
	case toolQuestion:
		return fmt.Sprintf("%s/%s crashed: %s", extension, ctx.name, crash)
	case interceptQuestion:
		return fmt.Sprintf("%s crashed in %s: %s", extension, ctx.name, crash)
	}
	return crash
}

func codeOf(err error) string {
	var refused *RequestError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return "failed"
}

func (s *server) runCommand(ctx *Context, asked wire.CommandInvoked) (wire.Frame, error) {
	response := Errorf("unknown command %q", asked.Name)
	if handler := s.command(asked.Name); handler != nil {
		var err error
		response, err = handler(ctx, asked.Args)
		if errors.Is(err, ErrClosed) {
			response = Noop()
		} else if err != nil {
			return nil, err
		}
	}
	response.frame.ID = asked.ID
	response.frame.Action = cmp.Or(response.frame.Action, "noop")
	return response.frame, nil
}

func (s *server) toolResult(ctx *Context, asked wire.ToolCall) ToolResult {
	handler := s.tool(asked.Name)
	if handler == nil {
		return TextErrorResult(fmt.Sprintf("unknown tool %q", asked.Name))
	}
	args := objectOr(asked.Args)
	if !asked.Reconcile {
		return handler(ctx, args)
	}
	s.mu.Lock()
	reconcile := s.reconcilers[asked.Name]
	s.mu.Unlock()
	found := Reconciliation{State: Unknown}
	if reconcile != nil {
		found = reconcile(ctx, args)
	}
	return ToolResult{Content: found.Content, StructuredContent: map[string]string{"state": found.State}}
}

func toolFrame(id string, result ToolResult) (wire.Frame, error) {
	structured, err := rawJSON(result.StructuredContent)
	details, bad := rawJSON(result.Details)
	frame := wire.ToolResult{
		ID: id, Content: result.Content, IsError: result.IsError, ActivateTools: result.ActivateTools,
		StructuredContent: structured, Details: details, EndTurn: result.EndTurn,
	}
	if result.View != nil {
		frame.View = mustJSON(result.View)
	}
	if result.CostUSD > 0 {
		frame.Usage = mustJSON(Params{"cost_usd": result.CostUSD})
	}
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	return frame, nil
}

func (s *server) decision(ctx *Context, asked wire.EventIntercept) wire.Frame {
	s.mu.Lock()
	chain := slices.Clone(s.interceptors[asked.Event])
	s.mu.Unlock()
	answer := decide(ctx, asked, chain)
	answer.ID = asked.ID
	return answer
}

// decide calls the handlers in order: each gets the changes of those before it, and the first that blocks decides.
func decide(ctx *Context, asked wire.EventIntercept, chain []interceptor) (answer wire.EventInterceptResponse) {
	for _, ask := range chain {
		question := asked
		question.ToolArgs = bytes.Clone(asked.ToolArgs) // so that the next handler does not see changes of the bytes
		given := ask(ctx, question)
		if given.Block {
			return wire.EventInterceptResponse{Block: true, Reason: given.Reason}
		}
		answer.Reason = cmp.Or(given.Reason, answer.Reason)
		answer.Ask = answer.Ask || given.Ask
		if len(given.ModifiedArgs) > 0 {
			answer.ModifiedArgs, asked.ToolArgs = given.ModifiedArgs, given.ModifiedArgs
		}
		if given.ReplaceText != "" {
			answer.ReplaceText, asked.Text = given.ReplaceText, given.ReplaceText
		}
		if given.SystemPrompt != nil {
			answer.SystemPrompt, asked.SystemPrompt = given.SystemPrompt, given.SystemPrompt
		}
		if len(given.Value) > 0 {
			answer.Value, asked.Data = joined(answer.Value, given.Value), seenNext(asked.Data, given.Value)
		}
		if given.Handled {
			answer.Handled = true
			break
		}
	}
	return answer
}

// respond answers a request of zot.
func (s *server) respond(ctx *Context, asked wire.Request) (wire.Frame, error) {
	params := paramsOf(asked.Params)
	handler := s.requestHandler(asked.Method, params)
	if handler == nil {
		return nil, &RequestError{Code: "unknown_method", Message: fmt.Sprintf("unknown method %q", asked.Method)}
	}
	result, err := handler(ctx, params)
	if err != nil {
		return nil, err
	}
	encoded, err := rawJSON(result)
	return wire.Response{ID: asked.ID, Result: encoded}, err
}

func (s *server) requestHandler(method string, params Params) RequestHandler {
	name := cmp.Or(params.Text("name"), params.Text("command"), params.Text("trigger"), params.Text("provider"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if handler := s.requestHandlers[method+" "+name]; handler != nil {
		return handler
	}
	return s.requestHandlers[method+" "]
}

// guarded runs a handler to its end; a panic is logged and returned. The handler has its own goroutine, so that even
// runtime.Goexit cannot lose the answer.
func (s *server) guarded(what string, handler func()) string {
	crashed := make(chan string, 1)
	go func() {
		finished := false
		defer func() {
			if finished {
				crashed <- ""
				return
			}
			crash := "it ended its goroutine"
			if value := recover(); value != nil {
				crash = fmt.Sprint(value)
			}
			s.Logf("the handler of %s crashed: %s\n%s", what, crash, debug.Stack())
			crashed <- cmp.Or(crash, "panic")
		}()
		handler()
		finished = true
	}()
	return <-crashed
}

func (s *server) command(name string) func(*Context, string) (Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, command := range s.commands {
		if command.frame.Name == name {
			return command.handler
		}
	}
	return nil
}

func (s *server) tool(name string) ToolContextHandler {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tool := range s.tools {
		if tool.frame.Name == name {
			return tool.handler
		}
	}
	return nil
}
