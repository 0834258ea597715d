package ext

import (
	"bufio"
	"io"
	"os"
	"sync"
)

// channel writes frames, one write each, and reserves standard output for them.
type channel struct {
	mu   sync.Mutex
	sink io.Writer
}

// open reserves standard output for frames; other output goes to the log from now on.
func (c *channel) open() *bufio.Reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sink = os.Stdout
	os.Stdout = os.Stderr
	return bufio.NewReaderSize(os.Stdin, 64*1024)
}

func (c *channel) send(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sink != nil {
		c.sink.Write(line) // a closed pipe is not an error
	}
}
