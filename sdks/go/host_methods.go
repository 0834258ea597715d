package ext

import (
	"context"
	"encoding/json"
	"errors"
)

// HostMethods is what an extension can ask zot for, as methods of Extension and Context. They fail with ErrNotSupported
// on a zot without the feature, and with a RequestError if zot refuses.
type HostMethods struct {
	ext     *Extension
	ctx     context.Context
	decides bool // in an interception a default must not pass for the user's yes
}

// Request asks zot for anything by its name in the protocol. The parameters are any value that encodes to an object.
func (m HostMethods) Request(method string, params any) (json.RawMessage, error) {
	return m.ext.request(m.ctx, method, params, nil)
}

// RequestWithProgress is the same; onProgress gets what comes before the result.
func (m HostMethods) RequestWithProgress(method string, params any, onProgress func(Update)) (json.RawMessage, error) {
	return m.ext.request(m.ctx, method, params, onProgress)
}

// asked sends a request and decodes its result.
func asked[T any](m HostMethods, method string, params any) (result T, err error) {
	raw, err := m.Request(method, params)
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &result)
	}
	return result, err
}

// --- dialogs

// Choice is one option of a dialog. Label is a string or a StyledLine.
type Choice struct {
	Value       string `json:"value"`
	Label       any    `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
	Group       string `json:"group,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
}

// Choices are options without labels.
func Choices(values ...string) []Choice {
	made := make([]Choice, len(values))
	for i, value := range values {
		made[i] = Choice{Value: value}
	}
	return made
}

// Field is a field of a form; Kind is text, number, integer, yes, choice, choices or path.
type Field struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Default     any      `json:"default,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
}

// Confirm asks yes or no; false if the user closes the dialog. Options: Default, Message, TimeoutS, With("yes", …).
func (m HostMethods) Confirm(title string, options ...Option) (bool, error) {
	yes, err := dialog[bool](m, "confirm", title, options)
	if errors.Is(err, ErrClosed) {
		return false, nil
	}
	return yes, err
}

// Select asks for one of the values; ErrClosed if the user closes the dialog.
func (m HostMethods) Select(title string, values []string, options ...Option) (string, error) {
	return m.SelectChoice(title, Choices(values...), options...)
}

// SelectChoice is Select with labels and descriptions.
func (m HostMethods) SelectChoice(title string, choices []Choice, options ...Option) (string, error) {
	return dialog[string](m, "select", title, options, With("options", choices))
}

// Choose asks for several of the choices; ErrClosed if the user closes the dialog.
func (m HostMethods) Choose(title string, choices []Choice, options ...Option) ([]string, error) {
	return dialog[[]string](m, "choose", title, options, With("options", choices))
}

// Input asks for a line of text. Options: Default, With("placeholder", …), With("text", …).
func (m HostMethods) Input(title string, options ...Option) (string, error) {
	return dialog[string](m, "input", title, options)
}

// Editor asks for a longer text, beginning with text.
func (m HostMethods) Editor(title, text string, options ...Option) (string, error) {
	return dialog[string](m, "editor", title, options, With("text", text))
}

// Form asks for several values, by field name.
func (m HostMethods) Form(title string, fields []Field, options ...Option) (map[string]any, error) {
	return dialog[map[string]any](m, "form", title, options, With("fields", fields))
}

// OpenURL shows an address that the user may open; true if they did.
func (m HostMethods) OpenURL(title, url string, options ...Option) (bool, error) {
	opened, err := dialog[bool](m, "url", title, options, With("url", url))
	if errors.Is(err, ErrClosed) {
		return false, nil
	}
	return opened, err
}

// Ask shows a dialog of any kind; the value has the type of its kind.
func (m HostMethods) Ask(kind, title string, options ...Option) (any, error) {
	return dialog[any](m, kind, title, options)
}

func dialog[T any](m HostMethods, kind, title string, options []Option, own ...Option) (value T, err error) {
	keys := keysOf(append(own, options...), With("kind", kind), With("title", title))
	answer, err := asked[struct {
		Value     json.RawMessage
		Cancelled bool
	}](m, "ui.ask", keys)
	if err == nil && answer.Cancelled {
		return value, ErrClosed
	}
	if err == nil {
		return value, json.Unmarshal(answer.Value, &value)
	}
	if fallback, given := keys["default"].(T); given && errors.Is(err, ErrUnavailable) && (!m.decides || any(fallback) == any(false)) {
		return fallback, nil
	}
	return value, err
}

// --- conversation

// Sent is the result of SendMessage.
type Sent struct {
	EntryID string `json:"entry_id"`
	Queued  bool   `json:"queued"`
}

// SendMessage speaks into the conversation, as the user's message unless With("as", "context") or "note" is given.
func (m HostMethods) SendMessage(text string, options ...Option) (Sent, error) {
	keys := keysOf(options, With("content", text), With("as", "user"), With("deliver", "now"))
	return asked[Sent](m, "chat.send", keys)
}

// SessionInfo is id, name, model, usage and state of the session.
func (m HostMethods) SessionInfo() (map[string]any, error) {
	return asked[map[string]any](m, "session.info", nil)
}

// Entry is a row of the session.
type Entry struct {
	EntryID   string          `json:"entry_id"`
	Kind      string          `json:"kind"` // message, compaction, extension, label or model
	Time      any             `json:"time"`
	Message   map[string]any  `json:"message"`
	Extension string          `json:"extension"`
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data"`
	Label     string          `json:"label"`
}

// EntryPage is a page of the session; Next is empty on the last one.
type EntryPage struct {
	Entries []Entry `json:"entries"`
	Next    string  `json:"next"`
}

// Entries reads a page of the session. Options: With("after", …), With("limit", …), With("kinds", …).
func (m HostMethods) Entries(options ...Option) (EntryPage, error) {
	return asked[EntryPage](m, "session.entries", keysOf(options))
}

// Appended is the result of AppendEntry; Saved is false while there is no session file.
type Appended struct {
	EntryID string `json:"entry_id"`
	Saved   bool   `json:"saved"`
}

// AppendEntry stores data in the session; the model does not see it. Option: WithView.
func (m HostMethods) AppendEntry(kind string, data any, options ...Option) (Appended, error) {
	return asked[Appended](m, "session.append", keysOf(options, With("type", kind), With("data", data)))
}

// Rename names the session.
func (m HostMethods) Rename(name string) error {
	return m.do("session.name", With("name", name))
}

// Label sets the label of an entry; an empty one clears it.
func (m HostMethods) Label(entryID, label string) error {
	if label == "" {
		return m.do("session.label", With("entry_id", entryID))
	}
	return m.do("session.label", With("entry_id", entryID), With("label", label))
}

// --- models, agents, tools, programs

// ActiveModel is the model of the session.
type ActiveModel struct {
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Reasoning string `json:"reasoning"`
}

// Model is the model of the session.
func (m HostMethods) Model() (ActiveModel, error) { return asked[ActiveModel](m, "model.get", nil) }

// Models are the models the user can choose.
func (m HostMethods) Models() ([]map[string]any, error) {
	found, err := asked[struct{ Models []map[string]any }](m, "model.list", nil)
	return found.Models, err
}

// SetModel changes the model of the session. Options: With("model", …), With("reasoning", …).
func (m HostMethods) SetModel(options ...Option) (ActiveModel, error) {
	return asked[ActiveModel](m, "model.set", keysOf(options))
}

// ModelAnswer is the result of CallModel.
type ModelAnswer struct {
	Text  string          `json:"text"`
	JSON  json.RawMessage `json:"json"`
	Stop  string          `json:"stop"`
	Usage map[string]any  `json:"usage"`
	Model string          `json:"model"`
}

// CallModel makes one model call with zot's login, at the user's cost. Options: With("model", "small"), With("system", …),
// With("schema", …), With("max_tokens", …).
func (m HostMethods) CallModel(prompt string, options ...Option) (ModelAnswer, error) {
	return asked[ModelAnswer](m, "model.call", keysOf(options, With("prompt", prompt)))
}

// AgentResult is the result of RunAgent.
type AgentResult struct {
	Text   string         `json:"text"`
	Status string         `json:"status"`
	Steps  int            `json:"steps"`
	Usage  map[string]any `json:"usage"`
}

// RunAgent runs a sub-agent with the tools and limits of this conversation.
func (m HostMethods) RunAgent(prompt string, options ...Option) (AgentResult, error) {
	return asked[AgentResult](m, "agent.run", keysOf(options, With("prompt", prompt)))
}

// ListTools is the tools there are, and which are active.
func (m HostMethods) ListTools() ([]map[string]any, error) {
	found, err := asked[struct{ Tools []map[string]any }](m, "tools.list", nil)
	return found.Tools, err
}

// SetActiveTools sets the tools the model may call from now on, and returns them.
func (m HostMethods) SetActiveTools(names ...string) ([]string, error) {
	found, err := asked[struct{ Active []string }](m, "tools.active", keysOf(nil, With("names", names)))
	return found.Active, err
}

// RunTool runs a tool through guards and permissions; With("original", true) runs the built-in tool whose place this
// tool took.
func (m HostMethods) RunTool(name string, args any, options ...Option) (ToolResult, error) {
	found, err := asked[struct {
		Content []ToolContent
		IsError bool `json:"is_error"`
		Details json.RawMessage
	}](m, "tools.call", keysOf(options, With("name", name), With("args", args)))
	return ToolResult{Content: found.Content, IsError: found.IsError, Details: found.Details}, err
}

// ProgramResult is the result of RunProgram.
type ProgramResult struct {
	Code      int    `json:"code"`
	Signal    string `json:"signal"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated"`
}

// RunProgram runs a program without a shell, as zot's own command. Options: With("cwd", …), With("stdin", …), TimeoutS.
func (m HostMethods) RunProgram(argv []string, options ...Option) (ProgramResult, error) {
	return asked[ProgramResult](m, "exec.run", keysOf(options, With("argv", argv)))
}

// --- prompt editor, settings, other extensions

// EditorText is the text of the prompt, while a command or key of the user is handled.
func (m HostMethods) EditorText() (text string, cursor int, err error) {
	found, err := asked[struct {
		Text   string
		Cursor int
	}](m, "editor.get", nil)
	return found.Text, found.Cursor, err
}

// SetEditor replaces the prompt.
func (m HostMethods) SetEditor(text string) error { return m.do("editor.set", With("text", text)) }

// InsertText puts text at the cursor of the prompt.
func (m HostMethods) InsertText(text string) error { return m.do("editor.insert", With("text", text)) }

// SetSetting changes a setting of this extension.
func (m HostMethods) SetSetting(name string, value any) error {
	return m.do("settings.set", With("name", name), With("value", value))
}

// Secret is a secret setting of this extension.
func (m HostMethods) Secret(name string) (string, error) {
	found, err := asked[struct{ Value string }](m, "secrets.get", keysOf(nil, With("name", name)))
	return found.Value, err
}

// Publish sends to extensions that subscribed to bus; the number that get it.
func (m HostMethods) Publish(topic string, payload any) (int, error) {
	found, err := asked[struct{ Delivered int }](m, "bus.publish", keysOf(nil, With("topic", topic), With("payload", payload)))
	return found.Delivered, err
}

func (m HostMethods) do(method string, keys ...Option) error {
	_, err := m.Request(method, keysOf(keys))
	return err
}
