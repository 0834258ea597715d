package ext

import (
	"encoding/json"
	"sync"
)

// BranchState is a value that follows the branch of the session: kept in its entries, found again after a fork or a
// rewind.
type BranchState[T any] struct {
	ext     *Extension
	kind    string
	initial T

	mu       sync.Mutex
	loaded   bool
	value    T
	handlers []func(T)
}

// NewBranchState makes one; kind names its entries.
func NewBranchState[T any](e *Extension, kind string, initial T) *BranchState[T] {
	state := &BranchState[T]{ext: e, kind: kind, initial: initial}
	e.On("session_start", func(Event) { state.changed() })
	e.OnHello(func() {
		if reason := paramsOf(e.Host().Session).Text("reason"); reason != "" && reason != "start" {
			state.changed()
		}
	})
	return state
}

// OnLoad is called with the value when a session or another branch begins, and after a reload.
func (b *BranchState[T]) OnLoad(handler func(T)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handlers = append(b.handlers, handler)
}

// Load is the value on this branch; the initial one if there is none.
func (b *BranchState[T]) Load() (T, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loaded {
		return b.value, nil
	}
	found := b.initial
	for after, more := "", true; more; more = after != "" {
		options := []Option{With("kinds", []string{"extension"}), With("limit", 500)}
		if after != "" {
			options = append(options, With("after", after))
		}
		page, err := b.ext.Entries(options...)
		if err != nil {
			return found, err
		}
		for _, entry := range page.Entries {
			if entry.Extension == b.ext.hello.Name && entry.Type == b.kind {
				var value T
				if json.Unmarshal(entry.Data, &value) == nil {
					found = value
				}
			}
		}
		after = page.Next
	}
	b.value, b.loaded = found, true
	return found, nil
}

// Save stores the value in the session.
func (b *BranchState[T]) Save(value T) error {
	b.mu.Lock()
	b.value, b.loaded = value, true
	b.mu.Unlock()
	_, err := b.ext.AppendEntry(b.kind, value)
	return err
}

func (b *BranchState[T]) changed() {
	b.mu.Lock()
	b.loaded = false
	handlers := append([]func(T){}, b.handlers...)
	b.mu.Unlock()
	if len(handlers) == 0 || !b.ext.Has("session") {
		return
	}
	value, err := b.Load()
	if err != nil {
		b.ext.Logf("cannot load the state %q: %v", b.kind, err)
		return
	}
	for _, handler := range handlers {
		handler(value)
	}
}
