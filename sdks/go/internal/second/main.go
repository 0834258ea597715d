// Command second is an extension that uses the second edition; its twins in other languages send the same frames.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	ext "github.com/zot-agent/zot/sdks/go"
)

var e = ext.New("second", "2.0.0")

func main() {
	e.Status("early", ext.Line("before ", ext.S("the run", "muted")))
	tools()
	interceptions()
	e.CommandFunc("envs", "where things run", func(ctx *ext.Context, _ string) (ext.Response, error) {
		chosen, err := ctx.Select("Environment", []string{"dev", "prod"})
		return ext.Prompt("What changed in " + chosen + "?"), err
	}, ext.Complete(completeEnv))
	e.Key("ctrl+alt+p", "plan mode", func(*ext.Context) (ext.Response, error) { return ext.Insert("plan"), nil })
	e.On("idle", func(ext.Event) {
		model, err := e.Model()
		if err != nil {
			panic(err)
		}
		e.Notify("info", "model "+model.Model)
	})
	e.On("bus", func(event ext.Event) {
		var data struct{ Payload any }
		_ = json.Unmarshal(event.Data, &data)
		time.Sleep(10 * time.Millisecond)
		e.Notify("info", fmt.Sprintf("bus %v", data.Payload))
	}, ext.Topics("t"))
	e.OnStateSave(func() any { return map[string]int{"n": 3} })
	if err := e.Run(); err != nil {
		e.Logf("fatal: %v", err)
		os.Exit(1)
	}
}

func completeEnv(_ *ext.Context, text string) []ext.Item {
	found := []ext.Item{}
	for _, item := range ext.Items("dev", "prod") {
		if strings.HasPrefix(item.Value, text) {
			found = append(found, item)
		}
	}
	return found
}

func tools() {
	e.ToolFunc("deploy", "Deploys.", deploy, ext.TimeoutS(600))
	e.ToolFunc("ask", "Asks.", func(ctx *ext.Context, in struct{ Kind string }) (any, error) {
		answer, err := ask(ctx, in.Kind)
		if err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(answer)
		return string(encoded), err
	})
	e.ToolFunc("request", "Sends any request.", func(ctx *ext.Context, in struct {
		Method string
		Params ext.Params `json:",omitempty"`
	}) (any, error) {
		result, err := ctx.Request(in.Method, in.Params)
		if err != nil {
			return refusal(err)
		}
		return string(result), nil
	})
	e.ToolFunc("contribute", "Contributes a key.", func(*ext.Context, ext.Params) (any, error) {
		if err := e.TryContribute("key", "k", ext.Params{"keys": []string{"ctrl+k"}, "description": "d"}); err != nil {
			return refusal(err)
		}
		return "taken", nil
	})
	e.ToolFunc("slow", "Waits to be cancelled.", func(ctx *ext.Context, _ ext.Params) (any, error) {
		e.Notify("info", "slow started")
		<-ctx.Done()
		e.Notify("info", "slow stopped")
		return "late", nil
	})
	e.ToolFunc("patient", "Asks and waits.", func(ctx *ext.Context, _ ext.Params) (any, error) {
		answer, err := ctx.Confirm("Go on?")
		if err != nil {
			e.Notify("info", fmt.Sprintf("patient stopped: %v", err))
			return nil, err
		}
		return fmt.Sprintf("answered %v", answer), nil
	})
	e.ToolFunc("told", "Says what there is.", func(*ext.Context, ext.Params) (any, error) {
		var state map[string]int
		found := e.State(&state)
		return fmt.Sprintf("%v %v %s %v", e.Has("dialogs"), e.Granted("ui"), e.Mode(), found), nil
	})
}

func deploy(ctx *ext.Context, in struct{ Env string }) (any, error) {
	if in.Env == "production" {
		if yes, err := ctx.Confirm("Deploy to production?", ext.Default(false)); err != nil || !yes {
			return nil, errors.New("the person said no")
		}
	}
	e.Status("env", ext.Line("deploying ", ext.S(in.Env, "accent")))
	ctx.Progress("build", 0.5)
	ctx.Progress("push", 1, ext.WithView(ext.ViewOf("pushed")))
	e.Withdraw("status", "env")
	view := ext.ViewOf("runs")
	return ext.ToolResult{
		Content: []ext.ToolContent{ext.Text(in.Env + " runs")}, View: &view, Details: map[string]int{"n": 1},
	}, nil
}

func ask(ctx *ext.Context, kind string) (any, error) {
	switch kind {
	case "select":
		return ctx.SelectChoice("Which?", []ext.Choice{{Value: "a"}, {Value: "b", Label: "B"}})
	case "choose":
		return ctx.Choose("Which?", ext.Choices("a", "b"))
	case "input":
		return ctx.Input("What?", ext.With("placeholder", "text"))
	case "editor":
		return ctx.Editor("What?", "prefilled")
	case "form":
		return ctx.Form("Fill in", []ext.Field{{Name: "n", Kind: "integer"}})
	}
	return ctx.OpenURL("Log in", "https://example.com")
}

func refusal(err error) (any, error) {
	if errors.Is(err, ext.ErrNotSupported) {
		return fmt.Sprintf("not supported: %v", err), nil
	}
	var refused *ext.RequestError
	if errors.As(err, &refused) {
		return fmt.Sprintf("%s: %v", refused.Code, err), nil
	}
	return nil, err
}

func interceptions() {
	e.Intercept("input", func(event *ext.Interception) ext.Verdict {
		switch text := event.Text(); {
		case text == "stop":
			return event.Block("not that")
		case text == "mine":
			return event.Handled()
		case strings.Contains(text, "#1"):
			return event.Replace(strings.ReplaceAll(text, "#1", "issue 1"))
		}
		return ext.Verdict{}
	})
	e.InterceptInput(func(in ext.Input) ext.Verdict {
		if strings.HasPrefix(in.Text, "issue") {
			return in.Replace(in.Text + "!")
		}
		return in.Replace(in.Text)
	})
	e.Intercept("tool_call", func(event *ext.Interception) ext.Verdict {
		if event.Args().Text("command") != "rm" {
			return ext.Verdict{}
		}
		if yes, err := event.Ctx.Confirm("Remove?", ext.Default(true)); err != nil || !yes {
			return event.Block("the person said no")
		}
		return ext.Verdict{}
	}, ext.Tools("bash"))
}
