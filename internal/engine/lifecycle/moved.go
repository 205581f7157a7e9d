package lifecycle

import "fmt"

// Successor is the machine of another API to which the instance of a machine was moved ([Machine].MovedTo).
type Successor struct {
	// Looked says that it was read. Err is why it could not be read.
	Looked bool
	Err    error
	// Records says that it exists, stays, and has recorded the instance.
	Records bool
}

// moved leaves a machine alone whose instance was moved to a machine of another API: two controllers must not act
// on one instance. Its deletion deletes only the object, and only if the other machine has recorded the instance:
// otherwise no machine would have the instance.
func moved(q input) *Decision {
	if q.m.MovedTo == "" {
		return nil
	}
	d := &Decision{Step: Settled, Reason: ReasonMoved, Stage: q.m.Stage, Message: fmt.Sprintf("machine %s has the instance", q.m.MovedTo)}
	if q.m.Deleted.IsZero() {
		return d
	}
	d.Stage = StageDeleting
	switch s := q.w.Successor; {
	case s.Records:
		d.Step = RemoveFinalizer
		return d
	case s.Err != nil:
		d.Err, d.Message = s.Err, fmt.Sprintf("machine %s cannot be read: %s", q.m.MovedTo, s.Err)
	case s.Looked:
		d.Message = fmt.Sprintf("machine %s has not recorded the instance of this machine", q.m.MovedTo)
	}
	d.Step, d.After = Await, max(q.p.Delays.Transient, FirstDelay)
	return d
}
