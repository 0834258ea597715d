// Runs one scenario with the Go client and prints what it saw as JSON; its twins print the same.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zot-agent/zot/sdks/go/client"
)

type config struct {
	Command   []string          `json:"command"`
	Args      []string          `json:"args"`
	BaseURL   string            `json:"base_url"`
	CWD       string            `json:"cwd"`
	Env       map[string]string `json:"env"`
	Extension string            `json:"extension"`
	Decision  string            `json:"decision"`
	Answers   []json.RawMessage `json:"answers"`
	Patience  int               `json:"patience"`
}

type seen map[string]any

var (
	ctx   = context.Background()
	given config
)

func options() client.Options {
	return client.Options{
		Command: given.Command, Args: given.Args, BaseURL: given.BaseURL, CWD: given.CWD, Env: given.Env,
		Silence: 500 * time.Millisecond, AnswerTimeout: time.Duration(given.Patience) * time.Second,
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func start(o client.Options) *client.Client { return must(client.Start(ctx, o)) }

func gather(stream *client.Stream) []client.Event {
	defer stream.Close()
	var events []client.Event
	for stream.Next() {
		events = append(events, stream.Event())
	}
	check(stream.Err())
	return events
}

func text(events []client.Event) string {
	var words strings.Builder
	for _, event := range events {
		if delta, ok := event.(client.TextDeltaEvent); ok {
			words.WriteString(delta.Delta)
		}
	}
	return words.String()
}

func tools() any {
	zot := start(options())
	defer zot.Close()
	events := gather(zot.Prompt(ctx, "look"))
	state := must(zot.State(ctx))
	errs := []bool{}
	for _, event := range events {
		if result, ok := event.(client.ToolResultEvent); ok {
			errs = append(errs, result.IsError)
		}
	}
	last := events[len(events)-1].EventType()
	return seen{"text": text(events), "errors": errs, "last": last, "messages": state.MessageCount, "output": state.Usage.Output}
}

func commands() any {
	zot := start(options())
	defer zot.Close()
	check(zot.Ping(ctx))
	providers := map[string]bool{}
	for _, model := range must(zot.Models(ctx)) {
		providers[model.Provider] = true
	}
	models := []string{}
	for provider := range providers {
		models = append(models, provider)
	}
	sort.Strings(models)
	failure := zot.SetModel(ctx, "nonsense").Error()
	check(zot.SetModel(ctx, "claude-haiku-4-5"))
	check(zot.SetReasoning(ctx, "low"))
	check(zot.SetPermissionMode(ctx, "plan"))
	answer := must(zot.Ask(ctx, "hi"))
	check(zot.Clear(ctx))
	return seen{"models": models, "failure": failure, "text": answer, "left": len(must(zot.Messages(ctx)))}
}

func abort() any {
	zot := start(options())
	defer zot.Close()
	stops, aborted := []string{}, false
	stream := zot.Prompt(ctx, "one")
	for stream.Next() {
		switch event := stream.Event().(type) {
		case client.TextDeltaEvent:
			if !aborted {
				aborted = true
				check(zot.Abort(ctx))
			}
		case client.TurnEndEvent:
			stops = append(stops, event.Stop)
		}
	}
	check(stream.Err())
	stream = zot.Prompt(ctx, "two")
	for stream.Next() {
		if _, ok := stream.Event().(client.TextDeltaEvent); ok {
			break
		}
	}
	stream.Close()
	return seen{"stops": stops, "text": must(zot.Ask(ctx, "three"))}
}

func compact() any {
	zot := start(options())
	defer zot.Close()
	must(zot.Ask(ctx, "question"))
	var summary string
	var both sync.WaitGroup
	both.Add(1)
	go func() { defer both.Done(); summary = must(zot.Compact(ctx, "names")) }()
	time.Sleep(50 * time.Millisecond) // so that it is the first of the two
	answer := must(zot.Ask(ctx, "next"))
	both.Wait()
	return seen{"summary": summary, "text": answer}
}

func rewind() any {
	zot := start(options())
	defer zot.Close()
	must(zot.Ask(ctx, "go"))
	changes := must(zot.Changes(ctx, 0))
	told := must(zot.Rewind(ctx, 1, client.RewindOptions{What: "files", DryRun: true}))
	done := must(zot.Rewind(ctx, 1, client.RewindOptions{}))
	outcomes := [][]string{}
	for _, answer := range []client.Rewound{told, done} {
		all := []string{}
		for _, file := range answer.Files {
			all = append(all, file.Outcome)
		}
		outcomes = append(outcomes, all)
	}
	left := len(must(zot.Messages(ctx)))
	return seen{"added": changes.Files[0].Added, "outcomes": outcomes, "text": done.Text, "left": left}
}

func approve() any {
	asked := []string{}
	o := options()
	o.Approve = func(request client.ApprovalRequestEvent) (string, error) {
		var args struct{ Command string }
		check(json.Unmarshal(request.Args, &args))
		asked = append(asked, request.Name+" "+args.Command)
		if given.Decision == "raise" {
			return "once", errors.New("cannot decide")
		}
		return given.Decision, nil
	}
	zot := start(o)
	defer zot.Close()
	return seen{"text": must(zot.Ask(ctx, "go")), "asked": asked}
}

func elicit() any {
	asked := []string{}
	o := options()
	o.Elicit = func(request client.ElicitationRequestEvent) (map[string]any, error) {
		names := []string{}
		for _, field := range request.Fields {
			names = append(names, field.Name)
		}
		asked = append(asked, request.Server+": "+request.Message+" "+strings.Join(names, " "))
		said := given.Answers[len(asked)-1]
		if string(said) == `"raise"` {
			return nil, errors.New("cannot answer")
		}
		var values map[string]any
		return values, json.Unmarshal(said, &values)
	}
	zot := start(o)
	defer zot.Close()
	answer, servers := must(zot.Ask(ctx, "go")), []string{}
	for _, each := range must(zot.McpServers(ctx)) {
		servers = append(servers, fmt.Sprintf("%s %s %d", each.Name, each.State, each.Tools))
	}
	return seen{"text": answer, "asked": asked, "servers": servers}
}

func extension() any {
	heard := make(chan client.Event, 100) // OnEvent has a goroutine of its own: the note may come after the answer
	o := options()
	o.Extensions, o.Capabilities = []string{given.Extension}, []string{"commands"}
	o.OnEvent = func(event client.Event) { heard <- event }
	zot := start(o)
	defer zot.Close()
	names := []string{}
	for _, command := range must(zot.Commands(ctx)) {
		names = append(names, command.Name)
	}
	answer, stream, err := zot.RunCommand(ctx, "greet", "Ada")
	check(err)
	events := gather(stream)
	for _, event := range events {
		heard <- event
	}
	notes := []string{until[client.ExtNotifyEvent](heard).Message}
	return seen{"commands": names, "action": answer.Action, "text": text(events), "notes": notes}
}

// until waits for the next event of a type and drops those before it.
func until[T client.Event](heard chan client.Event) T {
	for event := range heard {
		if wanted, ok := event.(T); ok {
			return wanted
		}
	}
	panic("no more events")
}

func panel() any {
	heard := make(chan client.Event, 100)
	o := options()
	o.Extensions, o.Capabilities = []string{given.Extension}, []string{"commands", "panels"}
	o.OnEvent = func(event client.Event) { heard <- event }
	zot := start(o)
	defer zot.Close()
	open := func() string {
		answer, stream, err := zot.RunCommand(ctx, "open", "")
		check(err)
		for _, event := range gather(stream) {
			heard <- event
		}
		return answer.Action
	}
	drawn := func() string {
		event := until[client.ExtPanelEvent](heard)
		return fmt.Sprintf("%s: %s (%s)", event.Title, strings.Join(event.Lines, ", "), event.Footer)
	}
	action, frames := open(), []string{drawn()}
	check(zot.PanelKey(ctx, "board", "p", "rune", "é"))
	frames = append(frames, drawn())
	check(zot.PanelKey(ctx, "board", "p", "up", ""))
	frames = append(frames, drawn())
	check(zot.PanelKey(ctx, "board", "p", "rune", "q"))
	closed := until[client.ExtPanelCloseEvent](heard)
	open()
	again := drawn()
	check(zot.PanelClose(ctx, "board", "p"))
	note := until[client.ExtNotifyEvent](heard).Message
	name := closed.Extension + " " + closed.PanelID
	return seen{"action": action, "drawn": frames, "closed": name, "again": again, "note": note}
}

func panelUnannounced() any {
	o := options()
	o.Extensions = []string{given.Extension}
	zot := start(o)
	defer zot.Close()
	key, closing := zot.PanelKey(ctx, "board", "p", "up", ""), zot.PanelClose(ctx, "board", "p")
	return []string{key.Error(), closing.Error()}
}

func lost(signal syscall.Signal) any {
	zot := start(options())
	defer zot.Close()
	stream := zot.Prompt(ctx, "hi")
	for stream.Next() {
		if _, ok := stream.Event().(client.TextDeltaEvent); ok && zot.PID() != 0 {
			// What it said before may still be coming.
			if err := syscall.Kill(zot.PID(), signal); !errors.Is(err, syscall.ESRCH) {
				check(err)
			}
		}
	}
	kind := ""
	var failure *client.Error
	if errors.As(stream.Err(), &failure) {
		kind = string(failure.Kind)
	}
	return seen{"kind": kind, "text": must(zot.Ask(ctx, "again")), "starts": zot.Starts()}
}

func missing() any {
	_, err := client.Start(ctx, options())
	var failure *client.Error
	if !errors.As(err, &failure) {
		return seen{}
	}
	told := strings.Contains(failure.Message, "no credential")
	return seen{"kind": failure.Kind, "told": told, "stderr": strings.Contains(failure.Stderr, "ANTHROPIC_API_KEY")}
}

func noise() any {
	zot := start(options())
	defer zot.Close()
	events := gather(zot.Prompt(ctx, "hi"))
	deltas := 0
	for _, event := range events {
		if _, ok := event.(client.TextDeltaEvent); ok {
			deltas++
		}
	}
	return seen{"events": len(events), "deltas": deltas, "characters": len(text(events))}
}

func main() {
	check(json.Unmarshal([]byte(os.Getenv("DRIVER")), &given))
	scenarios := map[string]func() any{
		"tools": tools, "commands": commands, "abort": abort, "compact": compact, "rewind": rewind, "approve": approve,
		"elicit":    elicit,
		"extension": extension, "panel": panel, "panel_unannounced": panelUnannounced, "missing": missing, "noise": noise,
		"killed":  func() any { return lost(syscall.SIGKILL) },
		"stopped": func() any { return lost(syscall.SIGSTOP) },
	}
	fmt.Println(string(must(json.Marshal(scenarios[os.Args[1]]()))))
}
