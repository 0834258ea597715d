// __NAME__: a tool that shows its progress. Try it with `zot --ext .`; test it with `go test .`.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	ext "github.com/zot-agent/zot/sdks/go"
)

func main() {
	e := ext.New("__NAME__", "0.1.0")
	// TimeoutS is a limit of silence: each progress begins it again.
	e.ToolFunc("__TOOL__", "Count the lines of the text files in a folder.", func(ctx *ext.Context, in arguments) (any, error) {
		// The user's project: this process runs in the extension's directory.
		return countLines(ctx, inProject(e.Host().CWD, in.Folder))
	}, ext.TimeoutS(60))
	if err := e.Run(); err != nil {
		e.Logf("%v", err)
	}
}

type arguments struct {
	Folder string `desc:"the folder"`
}

func inProject(project, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(project, path)
}

func countLines(ctx *ext.Context, folder string) (any, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	lines := 0
	for i, entry := range entries {
		if ctx.Err() != nil { // the user pressed esc; what is returned now is ignored
			return nil, ctx.Err()
		}
		// Partial is what the model gets if the call is cancelled: work that is done is not lost.
		partial := ext.Partial(ext.Text(fmt.Sprintf("%d lines so far, without %s", lines, entry.Name())))
		ctx.Progress(entry.Name(), float64(i+1)/float64(len(entries)), partial)
		if text, err := os.ReadFile(filepath.Join(folder, entry.Name())); err == nil { // a folder has no text
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	return fmt.Sprintf("%d lines in %d entries", lines, len(entries)), nil
}
