// Names the session after its first prompt, with the small model.
package main

import (
	"strings"
	"sync"

	ext "github.com/zot-agent/zot/sdks/go"
)

const ask = "Name this conversation with a coding agent in two to five words. Answer with the name only.\n\n"

func main() {
	e := ext.New("session-namer", "1.0.0")
	var once sync.Mutex
	e.On("prompt_end", func(ext.Event) {
		once.Lock()
		defer once.Unlock()
		info, err := e.SessionInfo()
		if err != nil || info["name"] != nil {
			return // it has a name
		}
		page, err := e.Entries(ext.With("kinds", []string{"message"}), ext.With("limit", 4))
		if err != nil || len(page.Entries) == 0 {
			return
		}
		answer, err := e.CallModel(ask+talk(page), ext.With("model", "small"), ext.With("max_tokens", 30))
		if err != nil {
			e.Logf("no name: %v", err)
			return
		}
		name := strings.Trim(strings.TrimSpace(answer.Text), `"'.`)
		if name == "" || len(name) > 80 {
			return
		}
		if err := e.Rename(name); err == nil {
			e.Title("zot: " + name)
		}
	})
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}

// talk is the text of the first messages.
func talk(page ext.EntryPage) string {
	var text strings.Builder
	for _, entry := range page.Entries {
		content, _ := entry.Message["content"].([]any)
		for _, block := range content {
			fields, _ := block.(map[string]any)
			words, _ := fields["text"].(string)
			text.WriteString(words + "\n")
		}
	}
	shown := text.String()
	if len(shown) > 4000 {
		shown = shown[:4000]
	}
	return shown
}
