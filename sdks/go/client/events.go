package client

import (
	"context"
	"encoding/json"
	"strings"
)

// Event is one of the event types of this package; switch on it. New kinds arrive as UnknownEvent.
type Event interface{ EventType() string }

// UnknownEvent is an event this version does not know. Ignore it.
type UnknownEvent struct {
	Type string
	Raw  json.RawMessage
}

// EventType is the type as received.
func (e UnknownEvent) EventType() string { return e.Type }

// Kind is the kind of an Error.
type Kind string

// Failed: zot refused the command. Gone: the process ended. Silent: no answer in time. Closed: the client was closed.
const (
	Failed Kind = "failed"
	Gone   Kind = "gone"
	Silent Kind = "silent"
	Closed Kind = "closed"
)

// Error is the error of every method; Stderr is the end of zot's stderr.
type Error struct {
	Kind    Kind
	Message string
	Stderr  string
}

func (e *Error) Error() string { return e.Message }

// Stream has the events of one prompt, in order, ending after done.
type Stream struct {
	ctx   context.Context
	live  *connection
	box   *inbox
	event Event
	err   error
}

// Next waits for an event; false after the last one or on an error (see Err). Cancelling the context aborts the prompt.
func (s *Stream) Next() bool {
	if s.err != nil {
		return false
	}
	s.event, s.err = s.live.next(s.ctx, s.box)
	return s.event != nil && s.err == nil
}

// Event is the event of the last Next.
func (s *Stream) Event() Event { return s.event }

// Err is the error that ended the stream early; nil after done.
func (s *Stream) Err() error { return s.err }

// Close aborts the prompt unless it has ended.
func (s *Stream) Close() {
	if s.box != nil {
		s.live.drop(s.box)
	}
}

func (s *Stream) started() (json.RawMessage, error) {
	if s.err != nil {
		return nil, s.err
	}
	var data json.RawMessage
	data, s.err = s.live.started(s.ctx, s.box)
	return data, s.err
}

// TextOf joins the text blocks of a message with newlines.
func TextOf(content []Content) string {
	var texts []string
	for _, block := range content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func decodeAs[T Event](line []byte) (Event, error) {
	var event T
	err := json.Unmarshal(line, &event)
	return event, err
}
