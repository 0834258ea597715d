// Command everything is an extension that uses every verb of the SDK; its twins in the other languages answer the
// same, byte for byte.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	ext "github.com/zot-agent/zot/sdks/go"
)

var anything = json.RawMessage(`{"type":"object"}`)

func main() {
	e := ext.New("everything", "1.2.3").Guard()
	e.OnHello(func() {
		e.Command("hello-"+e.Host().Provider, "made in on_hello", func(string) ext.Response { return ext.Noop() })
	})
	commands(e)
	tools(e)
	observe(e)
	intercept(e)
	if err := e.Run(); err != nil {
		e.Logf("fatal: %v", err)
		os.Exit(1)
	}
}

func commands(e *ext.Extension) {
	e.Command("show", "shows", func(args string) ext.Response { return ext.Display(args) })
	e.Command("ask", "asks", func(args string) ext.Response { return ext.Prompt(args) })
	e.Command("put", "inserts", func(args string) ext.Response { return ext.Insert(args) })
	e.Command("panel", "opens a panel", func(string) ext.Response {
		return ext.OpenPanel("p", "T", []string{"a", "b"}, "f")
	})
	e.Command("toolprompt", "", func(string) ext.Response {
		return ext.ToolPrompt("and push", "skill", map[string]string{"name": "x"})
	})
	e.Command("nothing", "", func(string) ext.Response { return ext.Noop() })
	e.Command("fail", "", func(args string) ext.Response { return ext.Errorf("failed: %s", args) })
	e.Command("crash", "", func(string) ext.Response { panic("boom") })
	e.Command("say", "", func(args string) ext.Response {
		e.Notify("info", args)
		e.ClearNotes()
		e.OpenPanel("free", "Title", []string{"x"}, "foot")
		e.RenderPanel("free", "", []string{"y"}, "")
		e.ClosePanel("free")
		e.Submit("typed")
		e.SubmitSlash("/help")
		return ext.Noop()
	})
	e.Command("where", "", func(string) ext.Response {
		host := e.Host()
		return ext.Display(fmt.Sprintf("%s %s %s %s", host.Provider, host.Model, host.CWD, host.DataDir))
	})
	e.Command("print", "", func(args string) ext.Response {
		fmt.Println("stray output")
		e.Logf("logged %s", args)
		return ext.Noop()
	})
	e.Command("more", "", func(string) ext.Response {
		e.Command("fresh", "late", func(string) ext.Response { return ext.Noop() })
		return ext.Noop()
	})
}

func tools(e *ext.Extension) {
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	e.Tool("echo", "Echoes.", schema, func(args json.RawMessage) ext.ToolResult {
		in := struct {
			Text string `json:"text"`
		}{"nothing"}
		if err := json.Unmarshal(args, &in); err != nil {
			return ext.TextErrorResult(err.Error())
		}
		return ext.TextResult(in.Text)
	})
	e.Tool("picture", "Shows.", anything, func(json.RawMessage) ext.ToolResult {
		return ext.ToolResult{Content: []ext.ToolContent{ext.Text("look"), ext.ImageBytes("image/png", []byte("hello"))}}
	})
	e.Tool("data", "Counts.", anything, func(json.RawMessage) ext.ToolResult {
		return ext.ToolResult{
			Content: []ext.ToolContent{ext.Text("one")}, ActivateTools: []string{"later"},
			StructuredContent: map[string]int{"n": 1},
		}
	})
	options := ext.ToolOptions{
		OutputSchema: anything, Namespace: "ns", NamespaceDescription: "nd", NamespaceInstructions: "ni",
		Exposure: "deferred", Deferred: true, Interactive: true, Replay: "reconcile",
	}
	e.ToolWithOptions("later", "Waits.", anything, options, func(ctx context.Context, _ json.RawMessage) ext.ToolResult {
		return ext.TextResult("key " + ext.OperationKey(ctx))
	})
	e.Reconciler("later", func(ctx context.Context, _ json.RawMessage) ext.Reconciliation {
		return ext.Reconciliation{State: ext.Completed, Content: []ext.ToolContent{ext.Text(ext.OperationKey(ctx))}}
	})
	e.Tool("broken", "Crashes.", anything, func(json.RawMessage) ext.ToolResult { panic("boom") })
	e.Tool("wrong", "Fails.", anything, func(json.RawMessage) ext.ToolResult { return ext.TextErrorResult("no") })
	e.Tool("md", "Formats.", anything, func(json.RawMessage) ext.ToolResult { return ext.MarkdownResult("*a*") })
	wait := func(ctx context.Context, _ json.RawMessage) ext.ToolResult {
		e.Notify("info", "slow started")
		<-ctx.Done()
		e.Notify("info", "slow stopped")
		return ext.TextResult("late")
	}
	e.ToolWithOptions("slow", "Waits to be cancelled.", anything, ext.ToolOptions{}, wait)
	call := func(ctx context.Context, _ json.RawMessage) ext.ToolResult {
		called, err := e.CallTool(ctx, "hosted", map[string]int{"a": 1})
		if err != nil {
			panic(err)
		}
		return ext.TextResult(called.Content[0].Text + " " + called.Name)
	}
	e.ToolWithOptions("nested", "Calls back.", anything, ext.ToolOptions{}, call)
}

func observe(e *ext.Extension) {
	e.On("turn_start", func(event ext.Event) { e.Notify("info", fmt.Sprintf("turn %d", event.Step)) })
	e.On("session_end", func(ext.Event) { panic("boom") })
	e.On("tool_result", func(event ext.Event) {
		e.Notify("success", event.ToolName+" "+event.Result.Content[0].Text)
	})
	e.OnPanelKey("p", func(key, text string) { e.RenderPanel("p", "", []string{key + text}, "") },
		func() { e.Notify("info", "closed") })
}

func intercept(e *ext.Extension) {
	e.InterceptToolCall(func(string, json.RawMessage) (bool, string) { return true, "" })
	e.InterceptToolCallX(func(tool string, args json.RawMessage) ext.ToolCallDecision {
		var in struct {
			Path string `json:"path"`
		}
		_ = json.Unmarshal(args, &in)
		switch tool {
		case "rm":
			return ext.ToolCallDecision{Block: true, Reason: "no rm " + in.Path}
		case "ls":
			return ext.ToolCallDecision{ModifiedArgs: json.RawMessage(`{"command":"echo"}`)}
		case "crash":
			panic("boom")
		}
		return ext.ToolCallDecision{}
	})
	e.InterceptTurnStart(func(step int) ext.TurnStartDecision {
		if step == 9 {
			panic("boom")
		}
		if step == 3 {
			return ext.TurnStartDecision{Block: true, Reason: "enough"}
		}
		return ext.TurnStartDecision{}
	})
	e.InterceptAssistantMessage(func(text string) ext.AssistantMessageDecision {
		switch text {
		case "SECRET":
			return ext.AssistantMessageDecision{ReplaceText: "[redacted]"}
		case "hide":
			return ext.AssistantMessageDecision{Block: true, Reason: "hidden"}
		case "crash":
			panic("boom")
		}
		return ext.AssistantMessageDecision{}
	})
	e.InterceptBeforeAgentStart(func(asked ext.BeforeAgentStart) *string {
		prompt := *asked.SystemPrompt + "!"
		switch *asked.SystemPrompt {
		case "crash":
			panic("boom")
		case "keep":
			return nil
		case "drop":
			prompt = ""
		}
		return &prompt
	})
}
