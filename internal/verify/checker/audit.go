package checker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// auditLine is a line of the audit log (audit.k8s.io/v1, Event).
type auditLine struct {
	Stage, Verb string
	User        struct{ Username string }
	ObjectRef   struct{ Resource, Namespace, Name, APIGroup, Subresource string }

	ResponseStatus           struct{ Code int }
	RequestObject            json.RawMessage
	ResponseObject           json.RawMessage
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

// ParseAudit reads an audit log of level RequestResponse. A truncated last line, which a killed API server leaves, is not an
// error.
func ParseAudit(r io.Reader) ([]Event, error) {
	var out []Event
	err := lines(r, func(n int, line []byte) error {
		var e auditLine
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.Stage != "ResponseComplete" {
			return nil
		}
		w := Write{
			Line: n, Begun: e.RequestReceivedTimestamp, Done: e.StageTimestamp, User: e.User.Username, Verb: e.Verb,
			Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
			Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code,
		}
		if w.Subresource == "binding" {
			var b struct{ Target struct{ Name string } }
			if err := json.Unmarshal(e.RequestObject, &b); err != nil {
				return fmt.Errorf("the binding: %w", err)
			}
			w.Target = b.Target.Name
		}
		if w.OK() && len(e.ResponseObject) > 0 {
			answer := struct {
				*Object
				Items []Object
			}{Object: &w.Object}
			if err := json.Unmarshal(e.ResponseObject, &answer); err != nil {
				return fmt.Errorf("the answer: %w", err)
			}
			w.Items = answer.Items
		}
		out = append(out, w.Event())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return out, nil
}

// lines calls each for each line that is not empty. An error about a truncated last line is ignored.
func lines(r io.Reader, each func(n int, line []byte) error) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		cut := errors.Is(err, io.EOF)
		if err != nil && !cut {
			return err
		}
		if len(line) > 1 {
			if err := each(n, line); err != nil && !cut {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if cut {
			return nil
		}
	}
}
