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
}

type seen map[string]any

var (
	ctx   = context.Background()
	given config
)

func options() client.Options {
	return client.Options{
		Command: given.Command, Args: given.Args, BaseURL: given.BaseURL, CWD: given.CWD, Env: given.Env,
		Silence: 500 * time.Millisecond, AnswerTimeout: 2 * time.Second,
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

func tools() seen {
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

func commands() seen {
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
	answer := must(zot.Ask(ctx, "hi"))
	check(zot.Clear(ctx))
	return seen{"models": models, "failure": failure, "text": answer, "left": len(must(zot.Messages(ctx)))}
}

func abort() seen {
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

func compact() seen {
	zot := start(options())
	defer zot.Close()
	must(zot.Ask(ctx, "question"))
	var summary string
	var both sync.WaitGroup
	both.Add(1)
	go func() { defer both.Done(); summary = must(zot.Compact(ctx)) }()
	time.Sleep(50 * time.Millisecond) // so that it is the first of the two
	answer := must(zot.Ask(ctx, "next"))
	both.Wait()
	return seen{"summary": summary, "text": answer}
}

func approve() seen {
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

func extension() seen {
	var lock sync.Mutex
	var heard []client.Event
	o := options()
	o.Extensions, o.Capabilities = []string{given.Extension}, []string{"commands"}
	o.OnEvent = func(event client.Event) { lock.Lock(); defer lock.Unlock(); heard = append(heard, event) }
	zot := start(o)
	defer zot.Close()
	names := []string{}
	for _, command := range must(zot.Commands(ctx)) {
		names = append(names, command.Name)
	}
	answer, stream, err := zot.RunCommand(ctx, "greet", "Ada")
	check(err)
	events := gather(stream)
	lock.Lock()
	defer lock.Unlock()
	heard = append(heard, events...)
	notes := []string{}
	for _, event := range heard {
		if note, ok := event.(client.ExtNotifyEvent); ok {
			notes = append(notes, note.Message)
		}
	}
	return seen{"commands": names, "action": answer.Action, "text": text(heard), "notes": notes}
}

func lost(signal syscall.Signal) seen {
	zot := start(options())
	defer zot.Close()
	stream := zot.Prompt(ctx, "hi")
	for stream.Next() {
		if _, ok := stream.Event().(client.TextDeltaEvent); ok && zot.PID() != 0 {
			check(syscall.Kill(zot.PID(), signal))
		}
	}
	kind := ""
	var failure *client.Error
	if errors.As(stream.Err(), &failure) {
		kind = string(failure.Kind)
	}
	return seen{"kind": kind, "text": must(zot.Ask(ctx, "again")), "starts": zot.Starts()}
}

func missing() seen {
	_, err := client.Start(ctx, options())
	var failure *client.Error
	if !errors.As(err, &failure) {
		return seen{}
	}
	told := strings.Contains(failure.Message, "no credential")
	return seen{"kind": failure.Kind, "told": told, "stderr": strings.Contains(failure.Stderr, "ANTHROPIC_API_KEY")}
}

func noise() seen {
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
	scenarios := map[string]func() seen{
		"tools": tools, "commands": commands, "abort": abort, "compact": compact, "approve": approve,
		"extension": extension, "missing": missing, "noise": noise,
		"killed":  func() seen { return lost(syscall.SIGKILL) },
		"stopped": func() seen { return lost(syscall.SIGSTOP) },
	}
	fmt.Println(string(must(json.Marshal(scenarios[os.Args[1]]()))))
}
