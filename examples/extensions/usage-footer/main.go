// A footer of two items: the model, and how full its window is.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	ext "github.com/zot-agent/zot/sdks/go"
)

const cells = 10

type usage struct {
	Context int     `json:"context_tokens"`
	Window  int     `json:"context_window"`
	Cost    float64 `json:"cost_usd"`
}

func bar(used, window int) string {
	full := 0
	if window > 0 {
		full = min(cells, used*cells/window)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

func main() {
	e := ext.New("usage-footer", "1.0.0")
	spent := 0.0
	e.On("usage", func(event ext.Event) {
		var seen usage
		if json.Unmarshal(event.Data, &seen) != nil {
			return
		}
		spent += seen.Cost
		style := "success"
		if seen.Window > 0 && seen.Context*4 > seen.Window*3 {
			style = "warning"
		}
		e.Footer(ext.Line(
			ext.S(bar(seen.Context, seen.Window), style),
			fmt.Sprintf(" %d of %d tokens  ", seen.Context, seen.Window),
			ext.S(fmt.Sprintf("$%.4f", spent), "muted"),
		))
	})
	e.On("model_changed", func(event ext.Event) {
		var now struct{ Model string }
		if json.Unmarshal(event.Data, &now) == nil {
			e.Status("model", ext.Line(ext.S("◆ ", "accent"), now.Model))
		}
	})
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}
