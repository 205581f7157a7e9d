package daemon

import (
	"bytes"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
)

// Fault is a call that fails once.
type Fault struct {
	// Procedure is the number of the procedure, Skip the number of calls that succeed before the fault.
	Procedure uint32
	Skip      int
	// Code and Message are the error; without a code the call succeeds.
	Code    libvirt.ErrorNumber
	Message string
	// Done: the call has its effect, and the connection is lost before the reply. Stall: there is no reply.
	Done, Stall bool
	// Delay is the time until the reply.
	Delay time.Duration
}

// Inject lets a call fail.
func (h *Host) Inject(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, &f)
}

// Listen answers on a socket until it is closed.
func (h *Host) Listen(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go h.serve(conn)
	}
}

// link is one connection.
type link struct {
	host *Host
	conn net.Conn
	// uploads are the open upload streams, by serial number.
	uploads map[int32]string
}

func (h *Host) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	h.connected(1)
	defer h.connected(-1)
	k := &link{host: h, conn: conn, uploads: map[int32]string{}}
	var turn sync.Mutex
	for {
		head, payload, err := readPacket(conn)
		if err != nil {
			return
		}
		if head.Type == typeStream {
			turn.Lock()
			more := k.stream(head, payload)
			turn.Unlock()
			if !more {
				return
			}
			continue
		}
		// A slow call does not delay others, as with libvirt's workers.
		go func() {
			fault := h.fault(head.Procedure)
			time.Sleep(fault.Delay)
			turn.Lock()
			defer turn.Unlock()
			k.call(head, payload, fault)
		}()
	}
}

// fault returns the fault for this call, and removes it.
func (h *Host) fault(procedure uint32) Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[procedure]++
	for n, f := range h.faults {
		if f.Procedure != procedure {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		h.faults = slices.Delete(h.faults, n, n+1)
		return *f
	}
	return Fault{}
}

func (h *Host) connected(change int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.links += change
}

// Connections returns the number of open connections.
func (h *Host) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.links
}

// Calls returns how often a procedure was called.
func (h *Host) Calls(procedure uint32) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[procedure]
}

func (k *link) call(head header, payload []byte, f Fault) {
	if f.Stall && !f.Done {
		return
	}
	head.Type, head.Status = typeReply, statusOK
	if f.Code != 0 && !f.Done {
		k.fail(head, &libvirt.Error{Code: uint32(f.Code), Message: f.Message}) //nolint:gosec // Numbers of errors are small.
		return
	}
	result, err := k.host.answer(head.Procedure, payload)
	switch {
	case f.Stall:
	case f.Done:
		_ = k.conn.Close()
	case err != nil:
		k.fail(head, err)
	default:
		if head.Procedure == ProcStorageVolUpload {
			k.uploads[head.Serial] = result.(uploading).path //nolint:forcetypeassert // It is what the procedure answers.
			result = nil
		}
		var out bytes.Buffer
		if result != nil {
			encode(&out, reflect.ValueOf(result))
		}
		k.send(head, out.Bytes())
	}
}

// stream stores a part of an upload, and confirms its end.
func (k *link) stream(head header, payload []byte) bool {
	path, ok := k.uploads[head.Serial]
	if !ok {
		return true
	}
	switch head.Status {
	case statusMore:
		k.host.write(path, payload)
		return true
	case statusOK:
		delete(k.uploads, head.Serial)
		return k.send(head, nil)
	}
	delete(k.uploads, head.Serial)
	return true
}

func (k *link) send(head header, payload []byte) bool {
	_, err := k.conn.Write(packet(head, payload))
	return err == nil
}

// fail replies with an error: its number, its domain, its text, its level, and a dozen details that clients
// ignore.
func (k *link) fail(head header, e *libvirt.Error) {
	head.Status = statusError
	var out bytes.Buffer
	encode(&out, reflect.ValueOf(struct {
		Code, From uint32
		Message    []string
		Level      uint32
		Rest       [28]byte
	}{Code: e.Code, From: 12, Message: []string{e.Message}, Level: 2}))
	k.send(head, out.Bytes())
}

// failed is an error in libvirt's words.
func failed(code libvirt.ErrorNumber, format string, args ...any) *libvirt.Error {
	return &libvirt.Error{Code: uint32(code), Message: fmt.Sprintf(format, args...)} //nolint:gosec // Numbers of errors are small.
}
