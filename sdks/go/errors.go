package ext

import (
	"encoding/json"
	"fmt"
	"slices"
)

// RequestError says why zot did not do what an extension asked for. Code is the code of the protocol, such as refused,
// busy, conflict or failed; errors.Is compares it with the errors below.
type RequestError struct {
	Code    string
	Message string
	Data    json.RawMessage
}

func (e *RequestError) Error() string { return e.Message }

// Is reports whether target has the same code.
func (e *RequestError) Is(target error) bool {
	other, ok := target.(*RequestError)
	return ok && other.Code == e.Code
}

// The usual reasons of a refusal, for errors.Is.
var (
	ErrNotSupported error = &RequestError{Code: "unknown_method", Message: "this zot does not have the feature"}
	ErrUnavailable  error = &RequestError{Code: "unavailable", Message: "not available in this mode"}
	ErrDenied       error = &RequestError{Code: "denied", Message: "not granted"}
	ErrCancelled    error = &RequestError{Code: "cancelled", Message: "the call was cancelled"}
	ErrTimeout      error = &RequestError{Code: "timeout", Message: "no answer in time"}
	// ErrClosed: the user closed a dialog. A command that returns it does nothing more.
	ErrClosed error = &RequestError{Code: "closed", Message: "the user closed the dialog"}
)

func missing(feature, what string) error {
	return &RequestError{
		Code: "unknown_method", Message: fmt.Sprintf("%s: this zot does not have the feature '%s'", what, feature),
	}
}

// Option sets one property of a registration, a request or a contribution. Each function names what it is for; With
// sets any key of the protocol.
type Option struct {
	key   string
	value any
}

// With sets a key of the protocol.
func With(key string, value any) Option { return Option{key, value} }

// Default is chosen first in a dialog, and the answer without a user.
func Default(value any) Option { return Option{"default", value} }

// Message is the text of a dialog, as lines.
func Message(lines ...any) Option { return Option{"message", lines} }

// TimeoutS is a limit in seconds: of silence for a tool, of waiting for a dialog.
func TimeoutS(seconds int) Option { return Option{"timeout_s", seconds} }

// Tools limits an event or interception to these tools; a final * matches any rest.
func Tools(names ...string) Option { return Option{"tools", names} }

// Topics limits the event bus to these topics.
func Topics(names ...string) Option { return Option{"topics", names} }

// EveryMS is the pace of message_delta, tool_update and usage.
func EveryMS(milliseconds int) Option { return Option{"every_ms", milliseconds} }

// Complete completes the arguments of a command.
func Complete(complete Completer) Option { return Option{"complete", complete} }

// Headless lets `zot -p "/name"` run a command.
func Headless() Option { return Option{"headless", true} }

// Partial is the partial result of a call, which the model gets if the call is cancelled.
func Partial(content ...ToolContent) Option { return Option{"content", content} }

// WithView is shown instead of zot's own drawing.
func WithView(view View) Option { return Option{"view", view} }

func keysOf(options []Option, first ...Option) map[string]any {
	keys := map[string]any{}
	for _, option := range slices.Concat(first, options) {
		keys[option.key] = option.value
	}
	return keys
}
