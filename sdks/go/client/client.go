// Package client drives `zot rpc` from Go: it starts, watches, restarts and stops the process, and every wait has a
// time limit. zot queues prompts sent while one runs. If the process dies, the next command starts another one; the
// conversation is lost unless it is saved (Args: "--session", FILE).
//
//	zot, err := client.Start(ctx, client.Options{Model: "claude-opus-5-5"})
//	if err != nil { ... }
//	defer zot.Close()
//	stream := zot.Prompt(ctx, "Say hello.")
//	defer stream.Close()
//	for stream.Next() {
//		if delta, ok := stream.Event().(client.TextDeltaEvent); ok {
//			fmt.Print(delta.Delta)
//		}
//	}
//	if err := stream.Err(); err != nil { ... }
package client

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"
)

// Options configure the process. The zero value runs the `zot` on PATH in the current directory.
type Options struct {
	Command    []string          // the command that starts zot; default "zot"
	Args       []string          // more flags, such as "--session", FILE
	Env        map[string]string // added to the environment; put keys here, not into Args
	Provider   string
	Model      string
	BaseURL    string
	CWD        string
	Extensions []string
	Token      string                                     // a shared secret that protects the connection
	Approve    func(ApprovalRequestEvent) (string, error) // called before each tool call: once, prefix, tool, all or deny; with Outside: once, session, never or deny
	// Elicit answers questions of MCP servers: the values by name (an empty map for an opened address), or nil to
	// decline. An error or invalid values cancel the question.
	Elicit       func(ElicitationRequestEvent) (map[string]any, error)
	Capabilities []string          // other capabilities: commands, panels
	OnEvent      func(Event)       // receives events that belong to no prompt
	OnStderr     func(line string) // receives zot's stderr, line by line
	NoRestart    bool              // do not restart a process that died

	StartTimeout  time.Duration // 30 s
	AnswerTimeout time.Duration // 10 s, for commands that are answered immediately
	Silence       time.Duration // 30 s without an event, then the client sends a ping
	ExitTimeout   time.Duration // 5 s between closing its stdin and killing it
}

// Client is safe for concurrent use.
type Client struct {
	options Options
	opening sync.Mutex
	live    *connection
	closed  bool
	hello   HelloData
	starts  int
}

// Start starts zot and waits until it is ready. If it fails, the error contains zot's stderr.
func Start(ctx context.Context, options Options) (*Client, error) {
	c := &Client{options: options}
	_, err := c.connected(ctx)
	return c, err
}

// Close aborts running work and ends the process. It can be called more than once.
func (c *Client) Close() error {
	c.opening.Lock()
	defer c.opening.Unlock()
	c.closed = true
	if c.live != nil {
		c.live.close(orDefault(c.options.ExitTimeout, 5*time.Second))
	}
	return nil
}

// Hello is zot's answer to hello: versions, provider and model.
func (c *Client) Hello() HelloData { c.opening.Lock(); defer c.opening.Unlock(); return c.hello }

// Starts is the number of processes started; above 1 means that one died.
func (c *Client) Starts() int { c.opening.Lock(); defer c.opening.Unlock(); return c.starts }

// PID is the process id of zot, 0 if it is not running.
func (c *Client) PID() int {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.live == nil || !c.live.alive() {
		return 0
	}
	return c.live.child.Process.Pid
}

// Prompt sends a prompt. Read the stream to its end, or close it, which aborts the prompt.
func (c *Client) Prompt(ctx context.Context, message string, images ...Image) *Stream {
	return c.run(ctx, promptCommand{Type: "prompt", Message: message, Images: images})
}

// Ask sends a prompt, waits, and returns the text of the last message. An error event is returned as an error.
func (c *Client) Ask(ctx context.Context, message string, images ...Image) (string, error) {
	stream := c.Prompt(ctx, message, images...)
	defer stream.Close()
	answer, failure := "", error(nil)
	for stream.Next() {
		switch event := stream.Event().(type) {
		case AssistantMessageEvent:
			answer = TextOf(event.Content)
		case ErrorEvent:
			failure = &Error{Kind: Failed, Message: event.Message}
		}
	}
	return answer, errors.Join(failure, stream.Err())
}

// Compact replaces the transcript with a summary; the optional focus names what it must preserve. It ends with
// compact_done, without done.
func (c *Client) Compact(ctx context.Context, focus ...string) (string, error) {
	stream := c.run(ctx, compactCommand{Type: "compact", Focus: strings.Join(focus, " ")})
	defer stream.Close()
	failure := &Error{Kind: Failed, Message: "compaction aborted"}
	for stream.Next() {
		switch event := stream.Event().(type) {
		case CompactDoneEvent:
			return event.Summary, nil
		case ErrorEvent:
			failure.Message = event.Message
		}
	}
	if err := stream.Err(); err != nil {
		return "", err
	}
	return "", failure
}

// RunCommand runs an extension's command (capability commands). The stream has the events of the prompt it started.
func (c *Client) RunCommand(ctx context.Context, name, args string) (CommandRun, *Stream, error) {
	stream := c.run(ctx, runCommandCommand{Type: "run_command", Name: name, Args: args})
	var answer CommandRun
	data, err := stream.started()
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	return answer, stream, err
}

// Abort stops the running prompt or compaction; queued prompts stay queued. Also succeeds when idle.
func (c *Client) Abort(ctx context.Context) error {
	return c.request(ctx, abortCommand{Type: "abort"}, nil)
}

// Ping checks that zot responds.
func (c *Client) Ping(ctx context.Context) error {
	return c.request(ctx, pingCommand{Type: "ping"}, nil)
}

// State returns the state of the agent.
func (c *Client) State(ctx context.Context) (State, error) {
	var state State
	return state, c.request(ctx, getStateCommand{Type: "get_state"}, &state)
}

// Messages returns the current transcript.
func (c *Client) Messages(ctx context.Context) ([]Message, error) {
	var answer Messages
	err := c.request(ctx, getMessagesCommand{Type: "get_messages"}, &answer)
	return answer.Messages, err
}

// Models lists the models of the current provider.
func (c *Client) Models(ctx context.Context) ([]ModelInfo, error) {
	var answer Models
	err := c.request(ctx, getModelsCommand{Type: "get_models"}, &answer)
	return answer.Models, err
}

// McpServers lists the MCP servers of this run. It starts none of them.
func (c *Client) McpServers(ctx context.Context) ([]McpServer, error) {
	var answer McpServers
	err := c.request(ctx, getMcpServersCommand{Type: "get_mcp_servers"}, &answer)
	return answer.Servers, err
}

// Commands lists the commands of extensions (capability commands).
func (c *Client) Commands(ctx context.Context) ([]CommandInfo, error) {
	var answer Commands
	err := c.request(ctx, getCommandsCommand{Type: "get_commands"}, &answer)
	return answer.Commands, err
}

// Changes lists file changes made by tools: during one prompt (its number, from 1), or with 0 in the whole session.
// Requires a saved session.
func (c *Client) Changes(ctx context.Context, prompt int) (Changes, error) {
	var answer Changes
	return answer, c.request(ctx, getChangesCommand{Type: "get_changes", Prompt: prompt}, &answer)
}

// RewindOptions: What is both (the default), files or conversation. Files that something else changed since are
// reported and not touched, unless Overwrite is set; DryRun reports and changes nothing.
type RewindOptions struct {
	What      string
	Overwrite bool
	DryRun    bool
}

// Rewind goes back to before a prompt (its number, from 1); 0 undoes the last rewind of files.
func (c *Client) Rewind(ctx context.Context, prompt int, options RewindOptions) (Rewound, error) {
	var answer Rewound
	command := rewindCommand{
		Type: "rewind", Prompt: prompt, What: options.What, Overwrite: options.Overwrite, DryRun: options.DryRun,
	}
	return answer, c.request(ctx, command, &answer)
}

// Clear clears the transcript. Fails while the agent is busy, as do SetModel and SetReasoning.
func (c *Client) Clear(ctx context.Context) error {
	return c.request(ctx, clearCommand{Type: "clear"}, nil)
}

// SetModel switches to another model of the same provider.
func (c *Client) SetModel(ctx context.Context, model string) error {
	return c.request(ctx, setModelCommand{Type: "set_model", Model: model}, nil)
}

// SetReasoning sets the reasoning effort.
func (c *Client) SetReasoning(ctx context.Context, level string) error {
	return c.request(ctx, setReasoningCommand{Type: "set_reasoning", Reasoning: level}, nil)
}

// SetPermissionMode sets which calls run without approval: plan, ask, accept-edits or everything; not wider than at
// start.
func (c *Client) SetPermissionMode(ctx context.Context, mode string) error {
	return c.request(ctx, setPermissionModeCommand{Type: "set_permission_mode", PermissionMode: mode}, nil)
}

// PanelKey sends a key press to a panel (capability panels).
func (c *Client) PanelKey(ctx context.Context, extension, panelID, key, text string) error {
	command := panelKeyCommand{Type: "panel_key", Extension: extension, PanelID: panelID, Key: key, Text: text}
	return c.request(ctx, command, nil)
}

// PanelClose reports that the user closed a panel (capability panels).
func (c *Client) PanelClose(ctx context.Context, extension, panelID string) error {
	return c.request(ctx, panelCloseCommand{Type: "panel_close", Extension: extension, PanelID: panelID}, nil)
}

func (c *Client) request(ctx context.Context, command any, data any) error {
	live, err := c.connected(ctx)
	if err != nil {
		return err
	}
	answer, err := live.request(ctx, command, live.answerTimeout)
	if err != nil || data == nil {
		return err
	}
	return json.Unmarshal(answer, data)
}

func (c *Client) run(ctx context.Context, command any) *Stream {
	live, err := c.connected(ctx)
	if err != nil {
		return &Stream{ctx: ctx, err: err}
	}
	box, err := live.begin(command)
	return &Stream{ctx: ctx, live: live, box: box, err: err}
}

func (c *Client) connected(ctx context.Context) (*connection, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	switch {
	case c.closed:
		return nil, &Error{Kind: Closed, Message: "client is closed"}
	case c.live != nil && c.live.alive():
		return c.live, nil
	case c.live != nil && c.options.NoRestart:
		return nil, &Error{Kind: Gone, Message: "zot is gone and restart is off", Stderr: c.live.lastWords()}
	}
	live, err := c.open(ctx)
	if err == nil {
		c.live = live
	}
	return live, err
}

func (c *Client) open(ctx context.Context) (*connection, error) {
	c.starts++
	live, err := dial(c.options)
	if err != nil {
		return nil, err
	}
	hello := helloCommand{Type: "hello", Token: c.options.Token, Capabilities: c.capabilities()}
	answer, err := live.request(ctx, hello, orDefault(c.options.StartTimeout, 30*time.Second))
	if err == nil {
		err = json.Unmarshal(answer, &c.hello)
	}
	if err != nil {
		live.close(0)
		return nil, err
	}
	return live, nil
}

func (c *Client) capabilities() []string {
	var asked []string
	if c.options.Approve != nil {
		asked = append(asked, "approvals")
	}
	if c.options.Elicit != nil {
		asked = append(asked, "elicitation")
	}
	return append(asked, c.options.Capabilities...)
}

func (o Options) argv() []string {
	argv := append([]string{}, o.Command...)
	if len(argv) == 0 {
		argv = []string{"zot"}
	}
	argv = append(argv, "rpc")
	flags := [][2]string{{"--provider", o.Provider}, {"--model", o.Model}, {"--base-url", o.BaseURL}, {"--cwd", o.CWD}}
	for _, path := range o.Extensions {
		flags = append(flags, [2]string{"--ext", path})
	}
	for _, flag := range flags {
		if flag[1] != "" {
			argv = append(argv, flag[0], flag[1])
		}
	}
	if o.Approve != nil {
		argv = append(argv, "--no-yolo")
	}
	return append(argv, o.Args...)
}

func (o Options) environment() []string {
	var environment []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "ZOTCORE_RPC_TOKEN=") {
			environment = append(environment, pair)
		}
	}
	for name, value := range o.Env {
		environment = append(environment, name+"="+value)
	}
	if o.Token != "" {
		environment = append(environment, "ZOTCORE_RPC_TOKEN="+o.Token)
	}
	return environment
}

func orDefault(given, fallback time.Duration) time.Duration {
	if given == 0 {
		return fallback
	}
	return given
}
