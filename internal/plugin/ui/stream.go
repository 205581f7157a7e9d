package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// aliveTime is the longest silence of a stream, so that a proxy between page and server keeps it open.
const aliveTime = 20 * time.Second

// writeTime is how long a client may take to read an event. It is longer than the silence of any stream: with HTTP/2 it
// also ends a stream without events.
const writeTime = 2 * time.Minute

// events is an open stream of server-sent events.
type events struct {
	http.ResponseWriter
	control *http.ResponseController
}

// stream begins a stream of events.
func stream(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w, http.NewResponseController(w)}
}

// send sends one event, whose text is one line.
func (e events) send(text []byte) error {
	e.await()
	if _, err := fmt.Fprintf(e, "data: %s\n\n", text); err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	if err := e.control.Flush(); err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	return nil
}

// alive sends a comment.
func (e events) alive() error {
	e.await()
	if _, err := fmt.Fprint(e, ":\n\n"); err != nil {
		return fmt.Errorf("keep a stream open: %w", err)
	}
	return e.control.Flush()
}

// await sets the time until which the client has to have read the next event. Tests have no connection and no such time.
func (e events) await() { _ = e.control.SetWriteDeadline(time.Now().Add(writeTime)) }

// encoded is v as JSON, in one line. All types of the page can be encoded.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return text
}
