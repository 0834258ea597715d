package ext

import (
	"bufio"
	"io"
	"os"
	"sync"
)

// channel is the wire: one write per frame, and standard output kept away from everybody else.
type channel struct {
	mu   sync.Mutex
	sink io.Writer
}

// open takes standard output for the wire; what is printed from now on goes to the log.
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
		c.sink.Write(line) // a host that is gone is not an error
	}
}
