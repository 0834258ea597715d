// __NAME__: a guard that asks. Try it with `zot --ext .`; test it with `go test .`.
package main

import (
	"regexp"
	"sync"

	ext "github.com/zot-agent/zot/sdks/go"
)

var (
	dangerous = regexp.MustCompile(`\brm\s+-\w*r|\bgit\s+push\b|\bsudo\b`)
	allowed   sync.Map
)

func main() {
	e := ext.New("__NAME__", "0.1.0").Guard()
	// Tools is a filter: other tools run without asking this guard.
	e.Intercept("tool_call", guard, ext.Tools("bash"))
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}

// guard is called before a command runs. If it fails, or no user can be asked, the command is denied.
func guard(event *ext.Interception) ext.Verdict {
	command := event.Args().Text("command")
	if _, known := allowed.Load(command); known || !dangerous.MatchString(command) {
		return ext.Verdict{}
	}
	answers := []string{"once", "for this session", "no"}
	answer, err := event.Ctx.Select("Run this command?", answers, ext.Message(command))
	if err != nil || answer == "no" {
		return event.Block("refused by __NAME__: the user did not agree")
	}
	if answer == "for this session" {
		allowed.Store(command, true)
	}
	return ext.Verdict{}
}
