package ext

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

// Update is a progress frame of a request that still runs.
type Update = wire.Progress

// requests are the open requests of this extension; each gets one answer, in any order.
type requests struct {
	mu       sync.Mutex
	count    int
	lost     bool
	open     map[string]*openRequest
	onOpened func() // a handler waits for zot from now on
}

type openRequest struct {
	answer     chan wire.Response
	onProgress func(Update)
}

func (r *requests) begin(onProgress func(Update)) (string, *openRequest, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		return "", nil, errHostGone
	}
	r.count++
	id := fmt.Sprintf("r%d", r.count)
	r.open[id] = &openRequest{make(chan wire.Response, 1), onProgress}
	return id, r.open[id], nil
}

func (r *requests) take(id string) *openRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.open[id]
	delete(r.open, id)
	return found
}

func (r *requests) answered(response wire.Response) {
	if open := r.take(response.ID); open != nil {
		open.answer <- response
	}
}

func (r *requests) progressed(progress wire.Progress) {
	r.mu.Lock()
	open := r.open[progress.ID]
	r.mu.Unlock()
	if open != nil && open.onProgress != nil {
		open.onProgress(progress)
	}
}

func (r *requests) loseAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = true
	for id, open := range r.open {
		close(open.answer)
		delete(r.open, id)
	}
}

var methodFeatures = map[string]string{
	"ui": "dialogs", "app": "session", "agent": "agents", "tools": "tools2", "commands": "tools2", "session": "session",
	"chat": "chat", "model": "model", "exec": "exec", "terminal": "terminal", "editor": "editor", "settings": "settings",
	"secrets": "secrets", "theme": "theme", "bus": "bus",
}

func featureOf(method string) string {
	family, _, _ := strings.Cut(method, ".")
	return cmp.Or(methodFeatures[family], "request")
}

// request sends a request of the question that ctx belongs to, and waits for its answer.
func (e *Extension) request(ctx context.Context, method string, params any, onProgress func(Update)) (json.RawMessage, error) {
	if e.hasGreeted() && !e.Has(featureOf(method)) {
		return nil, missing(featureOf(method), method)
	}
	given, err := rawJSON(params)
	if err != nil {
		return nil, err
	}
	if string(given) == "{}" || string(given) == "null" {
		given = nil
	}
	parent := questionOf(ctx)
	frame := wire.Request{Method: method, Params: given}
	if parent != nil {
		frame.ParentID = parent.id
	}
	return e.exchange(ctx, featureOf(method), onProgress, func(id string) wire.Frame {
		frame.ID = id
		return frame
	})
}

// exchange sends a frame with an id and waits for the answer.
func (e *Extension) exchange(ctx context.Context, feature string, onProgress func(Update), frame func(id string) wire.Frame) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	id, open, err := e.requests.begin(onProgress)
	if err != nil {
		return nil, err
	}
	e.requests.onOpened()
	e.sendLater(feature, frame(id))
	select {
	case answer, alive := <-open.answer:
		if !alive {
			return nil, errHostGone
		}
		return resultOf(answer)
	case <-ctx.Done():
		e.requests.take(id)
		if parent := questionOf(ctx); parent == nil || parent.Err() == nil { // zot cancels the requests of a question itself
			e.sendLater(feature, wire.Cancel{ID: id})
		}
		return nil, ended(ctx)
	}
}

func resultOf(answer wire.Response) (json.RawMessage, error) {
	if answer.Error == nil {
		return answer.Result, nil
	}
	code := cmp.Or(answer.Error.Code, "failed")
	return nil, &RequestError{code, cmp.Or(answer.Error.Message, code), answer.Error.Data}
}

func ended(ctx context.Context) error {
	return errors.Join(ErrCancelled, ctx.Err())
}

// sendLater sends a frame of the second edition: it waits for the greeting, and a zot without the feature gets none.
func (e *Extension) sendLater(feature string, frame wire.Frame) {
	e.mu.Lock()
	if !e.greeted {
		e.held = append(e.held, heldFrame{feature, frame})
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	if e.Has(feature) {
		e.send(frame)
		return
	}
	if id := idOf(frame); id != "" {
		message := missing(feature, frame.FrameType()).Error()
		e.requests.answered(wire.Response{ID: id, Error: &wire.ResponseError{Code: "unknown_method", Message: message}})
		return
	}
	e.mu.Lock()
	first := !e.reported[feature]
	e.reported[feature] = true
	e.mu.Unlock()
	if first {
		e.Logf("%v", missing(feature, frame.FrameType()+" is left out"))
	}
}

type heldFrame struct {
	feature string
	frame   wire.Frame
}

// idOf is the id of a frame that waits for an answer.
func idOf(frame wire.Frame) string {
	switch f := frame.(type) {
	case wire.Request:
		return f.ID
	case wire.Contribute:
		return f.ID
	case wire.Withdraw:
		return f.ID
	}
	return ""
}
