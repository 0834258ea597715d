package ext

// ProviderHandlers answer zot's questions to a model provider; all are optional. Without Stream, zot makes the calls
// itself with the api and base_url of the contribution.
type ProviderHandlers struct {
	// Stream makes one model call: it emits events such as ProviderText and returns how the call ended.
	Stream func(ctx *Context, call Params, emit func(event any)) (StreamEnd, error)
	Login  RequestHandler
	Renew  RequestHandler
	Models RequestHandler
}

// StreamEnd is the end of a model call; Stop is end_turn, tool_use, length or error.
type StreamEnd struct {
	Stop    string `json:"stop"`
	Usage   any    `json:"usage,omitempty"`
	Message any    `json:"message,omitempty"`
}

// ProviderText is a piece of text of a model.
func ProviderText(text string) any { return Params{"text": text} }

// ProviderThinking is a piece of reasoning of a model.
func ProviderThinking(text string) any { return Params{"thinking": text} }

// ProviderToolStart begins a tool call of a model; ProviderToolArgs adds to its arguments, ProviderToolEnd ends it.
func ProviderToolStart(id, name string) any {
	return Params{"tool_start": Params{"id": id, "name": name}}
}

// ProviderToolArgs adds to the arguments of a tool call.
func ProviderToolArgs(id, delta string) any {
	return Params{"tool_args": Params{"id": id, "delta": delta}}
}

// ProviderToolEnd ends a tool call.
func ProviderToolEnd(id string) any { return Params{"tool_end": Params{"id": id}} }

// Provider brings a model provider; value has the keys of the protocol, such as title and models.
func (e *Extension) Provider(name string, value Params, handlers ProviderHandlers) {
	if handlers.Stream != nil {
		value["stream"] = true
		e.answers("provider.stream", name, func(ctx *Context, call Params) (any, error) {
			return handlers.Stream(ctx, call, func(event any) {
				if ctx.Err() == nil {
					ctx.Progress("", -1, With("data", Params{"events": []any{event}}))
				}
			})
		})
	}
	for method, handler := range map[string]RequestHandler{
		"provider.login": handlers.Login, "provider.renew": handlers.Renew, "provider.models": handlers.Models,
	} {
		if handler != nil {
			e.answers(method, name, handler)
		}
	}
	e.Contribute("provider", name, value)
}
