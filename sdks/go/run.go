package ext

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
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
	reader := e.wire.open()
	e.send(e.hello)
	s := &server{Extension: e}
	first, err := s.next(reader)
	if err != nil {
		return endOf(err)
	}
	if ack, ok := first.(wire.HelloAck); ok {
		s.greet(ack)
	}
	s.register()
	for frame := first; ; {
		if !s.serve(frame) {
			return nil
		}
		if frame, err = s.next(reader); err != nil {
			s.finish()
			return endOf(err)
		}
	}
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
}

// next is the next known frame; other lines are logged and skipped.
func (s *server) next(reader *bufio.Reader) (wire.Frame, error) {
	for {
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) == 0 && err != nil {
			return nil, err
		}
		frame, bad := wire.Decode(line)
		if bad != nil {
			s.Logf("ignored a line that is not a frame: %v", bad)
		} else if frame != nil {
			return frame, nil
		}
	}
}

func (s *server) greet(ack wire.HelloAck) {
	s.mu.Lock()
	s.host = ack
	s.mu.Unlock()
	s.calls.mu.Lock()
	for _, offer := range ack.Capabilities {
		s.calls.offered = s.calls.offered || offer == "call_tool"
	}
	s.calls.mu.Unlock()
	for _, handler := range s.onHello {
		s.inOrder("on_hello", handler)
	}
}

func (s *server) register() {
	s.mu.Lock()
	s.registered = true
	frames := []wire.Frame{}
	for _, command := range s.commands {
		frames = append(frames, command.frame)
	}
	for _, tool := range s.tools {
		frames = append(frames, tool.frame)
	}
	subscribe := wire.Subscribe{Events: append([]string{}, s.eventNames...)}
	for _, event := range interceptOrder {
		if s.interceptors[event] != nil {
			subscribe.Intercept = append(subscribe.Intercept, event)
		}
	}
	s.mu.Unlock()
	if len(subscribe.Events)+len(subscribe.Intercept) > 0 {
		frames = append(frames, subscribe)
	}
	for _, frame := range append(frames, wire.Ready{}) {
		s.send(frame)
	}
}

// serve handles one frame; false when the run is over.
func (s *server) serve(frame wire.Frame) bool {
	switch f := frame.(type) {
	case wire.CommandInvoked:
		s.concurrently(func() { s.answerCommand(f) })
	case wire.ToolCall:
		ctx := s.calls.begin(f)
		s.concurrently(func() { s.answerTool(ctx, f) })
	case wire.EventIntercept:
		s.concurrently(func() { s.answerIntercept(f) })
	case wire.ToolCancel:
		s.calls.cancel(f.ID)
	case wire.HostToolResult:
		s.calls.answer(f)
	case wire.Event:
		for _, handler := range s.eventHandlers(f.Event) {
			s.inOrder(f.Event, func() { handler(f) })
		}
	case wire.PanelKey:
		if p := s.panel(f.PanelID); p.onKey != nil {
			s.inOrder("panel key", func() { p.onKey(f.Key, f.Text) })
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

func (s *server) concurrently(work func()) {
	s.handlers.Add(1)
	go func() {
		defer s.handlers.Done()
		work()
	}()
}

func (s *server) inOrder(what string, handler func()) {
	s.guarded(what, handler) // a crash is logged
}

// finish waits briefly for running handlers; those that wait for zot get an error.
func (s *server) finish() {
	s.calls.loseAll()
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

func (s *server) answerCommand(asked wire.CommandInvoked) {
	response := Errorf("unknown command %q", asked.Name)
	handler := s.command(asked.Name)
	if crash := s.guarded("/"+asked.Name, func() {
		if handler != nil {
			response = handler(asked.Args)
		}
	}); crash != "" {
		response = Errorf("/%s crashed: %s", asked.Name, crash)
	}
	response.frame.ID = asked.ID
	s.send(response.frame)
}

func (s *server) answerTool(ctx context.Context, asked wire.ToolCall) {
	defer s.calls.end(asked.ID)
	result := TextErrorResult(fmt.Sprintf("unknown tool %q", asked.Name))
	crash := s.guarded(asked.Name, func() { result = s.toolResult(ctx, asked, result) })
	frame, err := toolFrame(asked.ID, result)
	if err != nil && crash == "" {
		crash = err.Error()
	}
	if crash != "" {
		frame, _ = toolFrame(asked.ID, TextErrorResult(fmt.Sprintf("%s/%s crashed: %s", s.hello.Name, asked.Name, crash)))
	}
	if ctx.Err() == nil {
		s.send(frame)
	}
}

func (s *server) toolResult(ctx context.Context, asked wire.ToolCall, missing ToolResult) ToolResult {
	handler := s.tool(asked.Name)
	if handler == nil {
		return missing
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

func toolFrame(id string, result ToolResult) (wire.ToolResult, error) {
	structured, err := rawJSON(result.StructuredContent)
	return wire.ToolResult{
		ID: id, Content: result.Content, IsError: result.IsError, ActivateTools: result.ActivateTools,
		StructuredContent: structured,
	}, err
}

func (s *server) answerIntercept(asked wire.EventIntercept) {
	s.mu.Lock()
	chain := slices.Clone(s.interceptors[asked.Event])
	s.mu.Unlock()
	var answer wire.EventInterceptResponse
	crash := s.guarded(asked.Event, func() { answer = decide(asked, chain) })
	answer.ID = asked.ID
	if _, err := wire.Encode(answer); err != nil && crash == "" {
		crash = err.Error()
	}
	if crash != "" {
		reason := fmt.Sprintf("%s crashed in %s: %s", s.hello.Name, asked.Event, crash)
		answer = wire.EventInterceptResponse{ID: asked.ID, Block: true, Reason: reason}
	}
	s.send(answer)
}

// decide calls the handlers in order: each gets the changes of those before it, and the first that blocks decides.
func decide(asked wire.EventIntercept, chain []interceptor) (answer wire.EventInterceptResponse) {
	for _, ask := range chain {
		question := asked
		question.ToolArgs = bytes.Clone(asked.ToolArgs) // so that the next handler does not see changes of the bytes
		given := ask(question)
		if given.Block {
			return wire.EventInterceptResponse{Block: true, Reason: given.Reason}
		}
		answer.Reason = cmp.Or(given.Reason, answer.Reason)
		if len(given.ModifiedArgs) > 0 {
			answer.ModifiedArgs, asked.ToolArgs = given.ModifiedArgs, given.ModifiedArgs
		}
		if given.ReplaceText != "" {
			answer.ReplaceText, asked.Text = given.ReplaceText, given.ReplaceText
		}
		if given.SystemPrompt != nil {
			answer.SystemPrompt, asked.SystemPrompt = given.SystemPrompt, given.SystemPrompt
		}
	}
	return answer
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

func (s *server) command(name string) CommandHandler {
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
