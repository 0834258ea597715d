package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	highWater   = 1000 // events waiting for a reader
	stderrKept  = 64 * 1024
	termGrace   = time.Second
	lastWordsIn = time.Second // for the exit code, after stdout was closed
)

// connection is one process: it matches responses to commands by id, and events to the command they belong to.
// Everything between a `started` response and `done` (or `compact_done`) belongs to that command. If the caller reads
// slowly, the client does as well, and zot then merges events; responses are not delayed by that.
type connection struct {
	options       Options
	answerTimeout time.Duration
	silence       time.Duration
	child         *exec.Cmd
	lines         chan []byte // to its stdin, in order; nil closes it
	exited        chan struct{}
	progress      atomic.Int64 // grows while output arrives or is being read

	mu      sync.Mutex
	room    *sync.Cond
	lastID  int
	waiting map[string]chan response
	boxes   map[string]*inbox
	current *inbox
	stderr  []byte
	over    bool

	unclaimed []Event // for OnEvent, in order
}

type response struct {
	ID      string          `json:"id"`
	Command string          `json:"command"`
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   string          `json:"error"`
	gone    error
}

// inbox is the response of one command, then its events. The connection's lock guards it.
type inbox struct {
	answer  *response
	events  []Event
	failure error
	over    bool // complete
	dropped bool // its reader is gone
	news    chan struct{}
}

func (b *inbox) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

func (b *inbox) end(failure error) {
	if b.failure == nil {
		b.failure = failure
	}
	b.over = true
	b.tell()
}

func dial(options Options) (*connection, error) {
	argv := options.argv()
	child := exec.Command(argv[0], argv[1:]...)
	child.Env = options.environment()
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C in the terminal reaches only the caller
	stdin, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := child.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, &Error{Kind: Gone, Message: fmt.Sprintf("cannot start %s: %v", argv[0], err)}
	}
	c := &connection{
		options:       options,
		answerTimeout: orDefault(options.AnswerTimeout, 10*time.Second),
		silence:       orDefault(options.Silence, 30*time.Second),
		child:         child,
		lines:         make(chan []byte, 64),
		exited:        make(chan struct{}),
		waiting:       map[string]chan response{},
		boxes:         map[string]*inbox{},
	}
	c.room = sync.NewCond(&c.mu)
	if options.OnEvent != nil {
		go c.announce()
	}
	go c.write(stdin)
	go c.live(stdout, stderr)
	return c, nil
}

func (c *connection) alive() bool { c.mu.Lock(); defer c.mu.Unlock(); return !c.over }

func (c *connection) lastWords() string { c.mu.Lock(); defer c.mu.Unlock(); return string(c.stderr) }

// --- sending

func (c *connection) request(ctx context.Context, command any, timeout time.Duration) (json.RawMessage, error) {
	answer := make(chan response, 1)
	id, err := c.register(func(id string) { c.waiting[id] = answer })
	if err != nil {
		return nil, err
	}
	defer func() { c.mu.Lock(); delete(c.waiting, id); c.mu.Unlock() }()
	c.send(command, id)
	select {
	case got := <-answer:
		if got.gone != nil {
			return nil, got.gone
		}
		if !got.Success {
			return nil, &Error{Kind: Failed, Message: got.Error}
		}
		return got.Data, nil
	case <-time.After(timeout):
		return nil, &Error{Kind: Silent, Message: fmt.Sprintf("zot did not answer within %v", timeout), Stderr: c.lastWords()}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *connection) begin(command any) (*inbox, error) {
	box := &inbox{news: make(chan struct{}, 1)}
	id, err := c.register(func(id string) { c.boxes[id] = box })
	if err != nil {
		return nil, err
	}
	c.send(command, id)
	return box, nil
}

func (c *connection) register(keep func(id string)) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return "", c.gone()
	}
	c.lastID++
	id := fmt.Sprint(c.lastID)
	keep(id)
	c.room.Broadcast() // a slow reader must not delay the answer
	return id, nil
}

func (c *connection) started(ctx context.Context, box *inbox) (json.RawMessage, error) {
	for {
		c.mu.Lock()
		answer, failure, over := box.answer, box.failure, box.over
		c.mu.Unlock()
		if answer != nil && answer.Success {
			return answer.Data, nil
		}
		if over {
			return nil, failure
		}
		if err := c.wait(ctx, box); err != nil {
			return nil, err
		}
	}
}

// next is the next event, nil after the last.
func (c *connection) next(ctx context.Context, box *inbox) (Event, error) {
	for {
		c.mu.Lock()
		if len(box.events) > 0 {
			event := box.events[0]
			box.events = box.events[1:]
			c.room.Broadcast()
			c.mu.Unlock()
			return event, nil
		}
		failure, over := box.failure, box.over
		c.mu.Unlock()
		if over {
			return nil, failure
		}
		if err := c.wait(ctx, box); err != nil {
			return nil, err
		}
	}
}

// wait for output of the command; a zot that answers no ping is stopped.
func (c *connection) wait(ctx context.Context, box *inbox) error {
	select {
	case <-box.news:
		return nil
	case <-ctx.Done():
		c.drop(box)
		return ctx.Err()
	case <-time.After(c.silence):
	}
	before := c.progress.Load()
	_, err := c.request(ctx, pingCommand{Type: "ping"}, c.answerTimeout)
	if silent, ok := err.(*Error); ok && silent.Kind == Silent && before == c.progress.Load() && before%2 == 0 {
		c.mu.Lock()
		c.over = true
		box.end(&Error{Kind: Silent, Message: "zot was silent and answers no ping", Stderr: string(c.stderr)})
		c.mu.Unlock()
		_ = c.child.Process.Kill()
	}
	return nil
}

// drop a command whose reader is gone: abort it, now or when it starts.
func (c *connection) drop(box *inbox) {
	c.mu.Lock()
	abort := c.current == box && !box.over && !box.dropped
	box.dropped = true
	box.events = nil
	c.room.Broadcast()
	c.mu.Unlock()
	if abort {
		c.send(abortCommand{Type: "abort"}, "")
	}
}

// send never waits for the child, only for room in the queue of lines.
func (c *connection) send(command any, id string) {
	line, err := withID(command, id)
	if err != nil {
		return
	}
	select {
	case c.lines <- append(line, '\n'):
	case <-c.exited:
	case <-time.After(c.answerTimeout):
	}
}

func (c *connection) write(stdin io.WriteCloser) {
	for {
		select {
		case line := <-c.lines:
			if line == nil {
				_ = stdin.Close()
				return
			}
			_, _ = stdin.Write(line) // the end of the output reports a dead process
		case <-c.exited:
			return
		}
	}
}

func withID(command any, id string) ([]byte, error) {
	line, err := json.Marshal(command)
	if err != nil || id == "" {
		return line, err
	}
	return append([]byte(`{"id":"`+id+`",`), line[1:]...), nil
}

// --- receiving

func (c *connection) live(stdout, stderr io.Reader) {
	said := make(chan struct{})
	go func() { c.hearStderr(stderr); close(said) }()
	c.hear(stdout)
	c.mu.Lock()
	c.over = true
	c.room.Broadcast()
	c.mu.Unlock()
	late := time.AfterFunc(lastWordsIn, func() { _ = c.child.Process.Kill() })
	<-said
	_ = c.child.Wait()
	late.Stop()
	close(c.exited)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loseAll()
}

func (c *connection) hear(stdout io.Reader) {
	reader := bufio.NewReaderSize(counting{stdout, &c.progress}, 64*1024)
	for {
		line, err := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.progress.Add(1) // odd while a line is being read, which may take long for a long one
			c.take(line)
			c.progress.Add(1)
		}
		if err != nil {
			return
		}
	}
}

// counting counts arriving output, in steps of two.
type counting struct {
	io.Reader
	progress *atomic.Int64
}

func (r counting) Read(buffer []byte) (int, error) {
	n, err := r.Reader.Read(buffer)
	r.progress.Add(2)
	return n, err
}

func (c *connection) take(line []byte) {
	kind := kindOf(line)
	if kind == "" {
		return // not from zot: something else wrote to its stdout
	}
	var event Event
	if kind != "response" {
		var err error
		if event, err = decodeEvent(kind, line); err != nil {
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if event == nil {
		c.answered(line)
	} else {
		c.heard(event)
	}
	for c.current != nil && len(c.current.events) >= highWater && len(c.waiting) == 0 && !c.over {
		c.room.Wait()
	}
}

// kindOf reads the type without parsing a long line twice: zot writes it first.
func kindOf(line []byte) string {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`)); ok {
		if end := bytes.IndexByte(rest, '"'); end >= 0 {
			return string(rest[:end])
		}
	}
	var kind struct{ Type string }
	_ = json.Unmarshal(line, &kind)
	return kind.Type
}

func (c *connection) answered(line []byte) {
	var got response
	if json.Unmarshal(line, &got) != nil {
		return
	}
	if waiting, ok := c.waiting[got.ID]; ok {
		delete(c.waiting, got.ID)
		waiting <- got
		return
	}
	box, ok := c.boxes[got.ID]
	if !ok {
		return
	}
	delete(c.boxes, got.ID)
	box.answer = &got
	var data struct{ Started bool }
	_ = json.Unmarshal(got.Data, &data)
	switch {
	case !got.Success:
		box.end(&Error{Kind: Failed, Message: got.Error})
	case !data.Started:
		box.end(nil)
	default:
		c.current = box
		box.tell()
		if box.dropped {
			go c.send(abortCommand{Type: "abort"}, "") // the lock is held
		}
	}
}

func (c *connection) heard(event Event) {
	if asked, ok := event.(ApprovalRequestEvent); ok && c.options.Approve != nil {
		go c.approve(asked)
	}
	if asked, ok := event.(ElicitationRequestEvent); ok && c.options.Elicit != nil {
		go c.elicit(asked)
	}
	if c.current == nil {
		if c.options.OnEvent != nil {
			c.unclaimed = append(c.unclaimed, event)
			c.room.Broadcast()
		}
		return
	}
	if !c.current.dropped {
		c.current.events = append(c.current.events, event)
	}
	switch event.(type) {
	case DoneEvent, CompactDoneEvent:
		c.current.over = true
	}
	c.current.tell()
	if c.current.over {
		c.current = nil
	}
}

// announce calls OnEvent in order and without the lock, so that it may use the client.
func (c *connection) announce() {
	for {
		c.mu.Lock()
		for len(c.unclaimed) == 0 && !c.over {
			c.room.Wait()
		}
		events := c.unclaimed
		c.unclaimed = nil
		c.mu.Unlock()
		if len(events) == 0 {
			return
		}
		for _, event := range events {
			c.options.OnEvent(event)
		}
	}
}

// approve calls Approve; an error denies the call.
func (c *connection) approve(asked ApprovalRequestEvent) {
	answer := approveCommand{Type: "approve", RequestID: asked.RequestID}
	decision, err := c.options.Approve(asked)
	answer.Decision = decision
	if err != nil {
		answer.Decision, answer.Reason = "deny", "refused: asking for approval failed: "+err.Error()
	} else if !strings.Contains(" once prefix tool all deny session never ", " "+decision+" ") || decision == "" {
		answer.Decision, answer.Reason = "deny", fmt.Sprintf("refused: unknown decision %q", decision)
	}
	c.send(answer, "")
}

// elicit calls Elicit; an error or an answer that does not fit the question cancels it.
func (c *connection) elicit(asked ElicitationRequestEvent) {
	nothing := answerElicitationCommand{Type: "answer_elicitation", RequestID: asked.RequestID, Action: "cancel"}
	answer := nothing
	values, err := c.options.Elicit(asked)
	if err == nil && values == nil {
		answer.Action = "decline"
	} else if err == nil {
		if answer.Content, err = json.Marshal(values); err == nil {
			answer.Action = "accept"
		}
	}
	if _, err := c.request(context.Background(), answer, c.answerTimeout); err != nil {
		_, _ = c.request(context.Background(), nothing, c.answerTimeout)
	}
}

func (c *connection) hearStderr(stderr io.Reader) {
	reader := bufio.NewReader(stderr)
	for {
		line, err := reader.ReadBytes('\n')
		c.mu.Lock()
		c.stderr = append(c.stderr, line...)
		c.stderr = c.stderr[max(0, len(c.stderr)-stderrKept):]
		c.mu.Unlock()
		if c.options.OnStderr != nil && len(line) > 0 {
			c.options.OnStderr(strings.TrimSuffix(string(line), "\n"))
		}
		if err != nil {
			return
		}
	}
}

func (c *connection) loseAll() {
	gone := c.gone()
	for _, waiting := range c.waiting {
		waiting <- response{gone: gone}
	}
	for _, box := range c.boxes {
		box.end(gone)
	}
	if c.current != nil {
		c.current.end(gone)
	}
	c.waiting, c.boxes, c.current = map[string]chan response{}, map[string]*inbox{}, nil
}

func (c *connection) gone() error {
	words := strings.TrimSpace(string(c.stderr))
	message := "zot closed its output"
	select {
	case <-c.exited:
		message = fmt.Sprintf("zot ended: %v", c.child.ProcessState)
	default:
	}
	if words != "" {
		lines := strings.Split(words, "\n")
		message += ": " + lines[len(lines)-1]
	}
	return &Error{Kind: Gone, Message: message, Stderr: words}
}

// close aborts running work, closes stdin, and waits until the process has exited.
func (c *connection) close(grace time.Duration) {
	c.mu.Lock()
	if c.current != nil {
		c.current.dropped, c.current.events = true, nil
	}
	for _, box := range c.boxes {
		box.dropped = true
	}
	c.room.Broadcast()
	c.mu.Unlock()
	go func() {
		c.send(abortCommand{Type: "abort"}, "")
		select {
		case c.lines <- nil:
		case <-c.exited:
		}
	}()
	for _, step := range []struct {
		patience time.Duration
		insist   syscall.Signal
	}{{grace, syscall.SIGTERM}, {termGrace, syscall.SIGKILL}} {
		select {
		case <-c.exited:
			return
		case <-time.After(step.patience):
			_ = c.child.Process.Signal(step.insist)
		}
	}
	<-c.exited
}
