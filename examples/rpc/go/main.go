// zot rpc from Go, with the standard library alone.
//
//	go run . "list the files" [flags for zot]
//
// Ctrl-C aborts the prompt. With --no-yolo it asks you before each tool call. To build on, take sdks/go/client instead.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// line has the fields of all events that are shown here.
type line struct {
	Type       string
	Command    string
	Success    bool
	Error      string
	Delta      string
	Name       string
	Args       json.RawMessage
	IsError    bool `json:"is_error"`
	Extension  string
	Message    string
	Stop       string
	Preview    string
	RequestID  string `json:"request_id"`
	Cumulative struct {
		Input, Output int
		CostUSD       float64 `json:"cost_usd"`
	}
}

type object map[string]any

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, `usage: go run . "prompt" [flags for zot]`)
		os.Exit(2)
	}
	os.Exit(run(os.Args[1], os.Args[2:]))
}

func run(prompt string, flags []string) int {
	zot := exec.Command("zot", append([]string{"rpc"}, flags...)...)
	zot.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C reaches us alone, and we say "abort"
	zot.Stderr = os.Stderr
	stdin, err := zot.StdinPipe()
	fail(err)
	stdout, err := zot.StdoutPipe()
	fail(err)
	fail(zot.Start())

	var lock sync.Mutex
	send := func(command object) {
		lock.Lock()
		defer lock.Unlock()
		_ = json.NewEncoder(stdin).Encode(command) // a zot that is gone is noticed by its output
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		for range interrupts {
			send(object{"type": "abort"})
		}
	}()

	send(object{"type": "hello", "token": os.Getenv("ZOTCORE_RPC_TOKEN"), "capabilities": []string{"approvals"}})
	send(object{"id": "1", "type": "prompt", "message": prompt}) // no need to wait for the answer to hello

	code := show(bufio.NewReader(stdout), send)
	_ = stdin.Close() // zot exits when its input ends
	_ = zot.Wait()
	return code
}

// show prints events up to the last one; the exit code.
func show(stdout *bufio.Reader, send func(object)) int {
	code, cost := 0, "nothing used"
	answers := bufio.NewReader(os.Stdin)
	for {
		raw, err := stdout.ReadBytes('\n')
		if err != nil {
			return 1
		}
		var event line
		fail(json.Unmarshal(raw, &event))
		switch event.Type {
		case "response":
			if !event.Success {
				note("[%s] %s", event.Command, event.Error)
				return 1
			}
		case "text_delta":
			fmt.Print(event.Delta)
		case "tool_call":
			note("[%s] %s", event.Name, event.Args)
		case "tool_result":
			if event.IsError {
				note("[tool failed]")
			}
		case "approval_request":
			fmt.Fprintf(os.Stderr, "allow %s: %s? [y/N] ", event.Name, event.Preview)
			answer, _ := answers.ReadString('\n')
			decision := "deny"
			if strings.TrimSpace(answer) == "y" {
				decision = "once"
			}
			send(object{"type": "approve", "request_id": event.RequestID, "decision": decision})
		case "ext_notify":
			note("[%s] %s", event.Extension, event.Message)
		case "turn_end":
			if event.Stop == "aborted" {
				note("[aborted]")
			}
		case "usage":
			total := event.Cumulative
			cost = fmt.Sprintf("%d in, %d out, $%.4f", total.Input, total.Output, total.CostUSD)
		case "error":
			note("[error] %s", event.Message)
			code = 1
		case "done":
			fmt.Println()
			note("[%s]", cost)
			return code
		}
	}
}

func note(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }

func fail(err error) {
	if err != nil {
		note("%v", err)
		os.Exit(1)
	}
}
