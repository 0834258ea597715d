// Two slash commands: one answers by itself, the other asks the model.
package main

import (
	"os/user"

	ext "github.com/zot-agent/zot/sdks/go"
)

func hello(name string) ext.Response {
	if name == "" {
		name = "you"
		if me, err := user.Current(); err == nil {
			name = me.Username
		}
	}
	return ext.Display("Hello, " + name + "!")
}

func summon(name string) ext.Response {
	if name == "" {
		return ext.Errorf("whom? Try /summon Ada Lovelace")
	}
	return ext.Prompt("Answer as " + name + " would, in two sentences: what do you think of the code in this directory?")
}

func main() {
	e := ext.New("hello", "1.0.0")
	e.Command("hello", "say hello, without the model", hello)
	e.Command("summon", "let the model answer as another person", summon)
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}
