package ext

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

const callToolLimit = 60 * time.Second

// CalledTool is the result of CallTool.
type CalledTool = wire.HostToolResult

// ErrNoCallTool: this zot does not support call_tool.
var ErrNoCallTool = errors.New("this host does not offer call_tool")

var errHostGone = errors.New("the host is gone")

type contextKey string

const (
	parentKey    contextKey = "parent"
	operationKey contextKey = "operation"
)

// OperationKey is the same for every replay of one call; empty in ordinary sessions.
func OperationKey(ctx context.Context) string {
	key, _ := ctx.Value(operationKey).(string)
	return key
}

// calls are the calls of zot's tools in flight.
type calls struct {
	send    func(wire.Frame)
	mu      sync.Mutex
	count   int
	offered bool
	lost    bool
	waiting map[string]chan CalledTool
}

func newCalls(send func(wire.Frame)) *calls {
	return &calls{send: send, waiting: map[string]chan CalledTool{}}
}

// CallTool requests that zot runs a tool. Inside a tool handler, pass its context.
func (e *Extension) CallTool(ctx context.Context, name string, args any) (CalledTool, error) {
	encoded, err := rawJSON(args)
	if err != nil {
		return CalledTool{}, err
	}
	parent, _ := ctx.Value(parentKey).(string)
	id, result, err := e.calls.open()
	if err != nil {
		return CalledTool{}, err
	}
	e.requests.onOpened()
	ctx, stop := context.WithTimeout(ctx, callToolLimit)
	defer stop()
	e.send(wire.CallTool{ID: id, Name: name, Args: objectOr(encoded), ParentID: parent})
	select {
	case answer, alive := <-result:
		if !alive {
			return CalledTool{}, errHostGone
		}
		return answer, nil
	case <-ctx.Done():
		e.calls.take(id)
		e.send(wire.CallToolCancel{ID: id})
		return CalledTool{}, fmt.Errorf("call_tool %s: %w", name, ctx.Err())
	}
}

func (c *calls) open() (string, chan CalledTool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.offered {
		return "", nil, ErrNoCallTool
	}
	if c.lost {
		return "", nil, errHostGone
	}
	c.count++
	id := fmt.Sprintf("call-%d", c.count)
	c.waiting[id] = make(chan CalledTool, 1)
	return id, c.waiting[id], nil
}

func (c *calls) take(id string) chan CalledTool {
	c.mu.Lock()
	defer c.mu.Unlock()
	result := c.waiting[id]
	delete(c.waiting, id)
	return result
}

func (c *calls) answer(result wire.HostToolResult) {
	if waiting := c.take(result.ID); waiting != nil {
		waiting <- result
	}
}

func (c *calls) loseAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	for id, waiting := range c.waiting {
		close(waiting)
		delete(c.waiting, id)
	}
}
