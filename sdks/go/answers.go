package ext

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// Response is the answer to a slash command; create it with Prompt, Insert, Display, OpenPanel, ToolPrompt, Noop or Errorf.
type Response struct{ frame wire.CommandResponse }

// Prompt submits the text as a user message and runs the agent.
func Prompt(text string) Response {
	return Response{wire.CommandResponse{Action: "prompt", Prompt: text}}
}

// Insert inserts the text into the editor at the cursor.
func Insert(text string) Response {
	return Response{wire.CommandResponse{Action: "insert", Insert: text}}
}

// Display shows the text once; the model does not see it.
func Display(text string) Response {
	return Response{wire.CommandResponse{Action: "display", Display: text}}
}

// OpenPanel opens a panel; OnPanelKey registers the handlers of its keys.
func OpenPanel(id, title string, lines []string, footer string) Response {
	panel := Panel{ID: id, Title: title, Lines: lines, Footer: footer}
	return Response{wire.CommandResponse{Action: "open_panel", OpenPanel: &panel}}
}

// ToolPrompt runs a tool, then a turn with its result. The arguments are any value that encodes to a JSON object.
func ToolPrompt(prompt, tool string, args any) Response {
	encoded, err := rawJSON(args)
	if err != nil {
		return Errorf("tool_prompt: %v", err)
	}
	return Response{wire.CommandResponse{Action: "tool_prompt", Prompt: prompt, ToolName: tool, ToolArgs: encoded}}
}

// Noop requests no further action.
func Noop() Response { return Response{wire.CommandResponse{Action: "noop"}} }

// Errorf shows an error.
func Errorf(format string, args ...any) Response {
	return Response{wire.CommandResponse{Action: "noop", Error: fmt.Sprintf(format, args...)}}
}

// Panel is the content of a panel.
type Panel = wire.Panel

// ToolContent is one block of a tool result.
type ToolContent = wire.Content

// Text is a text block.
func Text(text string) ToolContent { return ToolContent{Type: "text", Text: text} }

// Image is an image block from base64 data.
func Image(mimeType, data string) ToolContent {
	return ToolContent{Type: "image", MimeType: mimeType, Data: data}
}

// ImageBytes is an image block from bytes.
func ImageBytes(mimeType string, data []byte) ToolContent {
	return Image(mimeType, base64.StdEncoding.EncodeToString(data))
}

// ToolResult is the answer to a tool call: Content for the model, StructuredContent for programs.
type ToolResult struct {
	Content           []ToolContent
	IsError           bool
	ActivateTools     []string
	StructuredContent any
	View              *View   // how users see the result
	Details           any     // stored in the session for renderers and this extension, never for the model
	CostUSD           float64 // money spent elsewhere
	EndTurn           bool    // if every result of the message says so, the prompt ends
}

// TextResult is a result with one text block.
func TextResult(text string) ToolResult { return ToolResult{Content: []ToolContent{Text(text)}} }

// TextErrorResult is a failure; the model gets the text.
func TextErrorResult(text string) ToolResult {
	return ToolResult{Content: []ToolContent{Text(text)}, IsError: true}
}

// MarkdownResult is a result with one text block that is displayed as Markdown.
func MarkdownResult(text string) ToolResult {
	return ToolResult{Content: []ToolContent{{Type: "text", Text: text, Format: "markdown"}}}
}

// Reconciliation is the state of an interrupted operation.
type Reconciliation struct {
	State   string // Completed, NotStarted or Unknown
	Content []ToolContent
}

// The states of a Reconciliation.
const (
	Completed  = "completed"
	NotStarted = "not_started"
	Unknown    = "unknown"
)

// ToolCallDecision allows or blocks a tool call, or changes its arguments. The zero value allows it unchanged.
type ToolCallDecision struct {
	Block        bool
	Reason       string
	ModifiedArgs json.RawMessage
}

// TurnStartDecision allows or blocks a model call. The zero value allows it.
type TurnStartDecision struct {
	Block  bool
	Reason string
}

// AssistantMessageDecision allows or blocks a message, or replaces its text. The zero value allows it unchanged.
type AssistantMessageDecision struct {
	Block       bool
	Reason      string
	ReplaceText string
}

func rawJSON(value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}
